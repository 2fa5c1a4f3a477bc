-- What happens in a session is in the order in which it was asked for, not in which it was answered.
ALTER TABLE open_trajectories RENAME COLUMN started_at TO asked_at;
