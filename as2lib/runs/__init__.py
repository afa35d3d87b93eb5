"""What a run is, its identity, its store, how it is made and fitted, and the frame of its results."""
