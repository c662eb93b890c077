"""The models a decoder can run on, behind one protocol."""
