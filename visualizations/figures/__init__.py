"""Trace to Plotly figure, as a plain dict. Pure functions, one file per picture."""
