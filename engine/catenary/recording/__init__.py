"""What is kept of runs: records, their form as JSON, and what differs between two."""

from catenary.recording.record import MemoryRecorder, Nested, Recorder, RecordStatus, RunRecord, Visit, size_of

__all__ = ["MemoryRecorder", "Nested", "RecordStatus", "Recorder", "RunRecord", "Visit", "size_of"]
