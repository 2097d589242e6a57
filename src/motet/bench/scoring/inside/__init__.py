"""Programs that run inside the sandbox when code is judged. None of them knows what is right."""
