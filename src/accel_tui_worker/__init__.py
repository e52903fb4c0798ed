"""What runs inside the job's own Python; standard library and the torch stack only."""
