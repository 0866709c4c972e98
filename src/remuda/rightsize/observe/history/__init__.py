"""What workloads used, read from Prometheus."""
