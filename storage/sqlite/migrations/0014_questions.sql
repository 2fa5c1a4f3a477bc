-- What was asked when a memory was looked at: for the last questions the stems, how often it was looked
-- at, and how often used then; none where nothing is known.
ALTER TABLE memories ADD COLUMN questions TEXT;
