"""What every simulated world stands on: a virtual-time loop, a clock over it and injected faults."""
