"""The paper's SecureMatch: distances under Paillier's encryption, compared by garbled circuits."""
