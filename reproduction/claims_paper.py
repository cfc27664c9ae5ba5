"""The paper's 21 claims, in the order of MATHS §14.4, each with its check."""

from __future__ import annotations

from reproduction import claims_cost as cost
from reproduction import claims_tradeoff as tradeoff
from reproduction.claims import Claim

CLAIMS = (
    Claim(1, "APC has slope 2, PSI+X and LP slightly above 1", cost.slopes),
    Claim(2, "PSI+X > APC > LP(0.1) > LP(0.4) > LP(1.6) > np", cost.order),
    Claim(3, "Taxi, n = 10^5.5, ε = 0.1: an order below APC", cost.taxi_strict),
    Claim(4, "Taxi, 16 times the data, ε = 0.1: over 2 orders", cost.taxi_large),
    Claim(5, "Taxi, ε = 1.6: 3 orders at all sizes", cost.taxi_loose),
    Claim(6, "AB: up to 2 orders", cost.ab_orders),
    Claim(7, "Taxi: GMC saves over 50 % at ε = 1.6, less as ε falls", cost.taxi_greedy),
    Claim(8, "AB: GMC saves 16 % (ε = 1.6), 11 % (ε = 0.1)", cost.ab_greedy),
    Claim(9, "T = 16, ε = 0.1: S saves 8.0e6 (AB), 2.0e9 (Taxi)", cost.sorting),
    Claim(10, "AB, T = 16, ε = 0.1: SP saves 5.0e6 against S", cost.pruning),
    Claim(11, "recall above 0.95 at the 10 % percentile", cost.pruned_recall),
    Claim(12, "AB, T = 16, ε = 0.1: SP lowers the variance", cost.spread),
    Claim(13, "Taxi: δ from 1e-5 to 1e-9 moves the ratio ≤ 0.001", tradeoff.delta_little),
    Claim(14, "Taxi: ε from 1.6 to 0.1 raises the ratio to 0.07", tradeoff.epsilon_much),
    Claim(15, "even at ε = 0.1, 100 times below APC", tradeoff.hundredfold),
    Claim(16, "cost rises as ε falls; ε matters more than δ", tradeoff.lines_shift),
    Claim(17, "AB: a steep first part of the trade-off", tradeoff.steep),
    Claim(18, "PSI has a recall close to 10 %", tradeoff.psi_recall),
    Claim(19, "n = 5,000: APC 22 days, LP at ε = 1.6 80 hours", tradeoff.hours),
    Claim(20, "LP finds the blocked join; GMC no less, at no more cost", tradeoff.exact),
    Claim(21, "PSI+X beats APC for sufficiently large data only", tradeoff.crossing),
)
