"""The paper's evaluation, rebuilt: every figure, every claim, and what the paper left out [HMFS17, §5]."""
