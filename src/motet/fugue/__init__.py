"""AgentFugue: peers that search the same task side by side and share their reasoning through a hub."""
