"""A study: its parameters, its runs and where they are kept, and what their scores say."""
