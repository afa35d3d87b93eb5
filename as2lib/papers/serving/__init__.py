"""What serving a model costs, by backend and precision: reads what `python -m bench serving --full` kept."""
