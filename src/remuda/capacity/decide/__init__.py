"""What is judged of a snapshot: pure functions of it, a policy and the time."""
