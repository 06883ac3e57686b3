"""Free times in calendars. Times are minutes of a day."""
