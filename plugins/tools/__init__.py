"""Judges that DeepEval, MLflow, Ragas, TruLens and UMBRELA ship, read from an installation."""
