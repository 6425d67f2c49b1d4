"""Tools an agent may use: how they are declared, found, checked and run."""
