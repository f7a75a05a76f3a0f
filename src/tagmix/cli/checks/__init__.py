"""The checks of ``tagmix doctor``. Each imports what it needs: that may be what is broken."""
