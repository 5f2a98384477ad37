"""The hot loops: numpy for small inputs, machine code with the same results for large ones."""
