"""Users need no scipy; where developers have it, a library would import it at the start of every command."""

raise ImportError("scipy is not here, as in the installation of a user")
