"""The ReAct agent: the loop that every system's workers share."""
