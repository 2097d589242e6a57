"""Who answers ``search``: three services over HTTP, and a folder of saved pages."""
