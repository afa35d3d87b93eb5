"""What a notebook shows and saves: numbered tables, figures and metrics under `reports/<study>/`, and its page."""
