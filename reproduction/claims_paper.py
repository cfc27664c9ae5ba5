"""The paper's 21 claims, in the order of MATHS §14.4."""

from reproduction.claims_cost import COST
from reproduction.claims_tradeoff import TRADEOFF

CLAIMS = (*COST, *TRADEOFF)
