"""What containers need, from samples of what they used: exact estimates, and the evidence they come with."""
