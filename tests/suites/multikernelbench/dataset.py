"""The suite builds its list of tasks here."""
