"""Systems to compare with; those named after a paper are a reading of it, and say what they leave out."""
