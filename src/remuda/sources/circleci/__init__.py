"""CircleCI, cloud and Server, as a source of needs: its queue is asked often, and its agents say who works."""
