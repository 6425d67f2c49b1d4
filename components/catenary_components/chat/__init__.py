"""`catenary chat`: a conversation with an agent at the terminal."""
