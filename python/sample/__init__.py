"""The sample model and the random-weight models that tests and benchmarks use."""
