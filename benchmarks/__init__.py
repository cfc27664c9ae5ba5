"""Speed against peers, measured side by side in one run. Numbers are printed, never asserted."""
