"""Fleet: which machine serves which need, what to buy, what to take back and what to give up, for many clusters."""
