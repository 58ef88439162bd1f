package info

func (s *Source) persistence() []field {
	if s.Env.Cluster != nil {
		return []field{{"loading", 0}, {"aof_enabled", 1}, {"rdb_bgsave_in_progress", 0}, {"rdb_last_save_time", s.LastSave()}, {"rdb_last_bgsave_status", "ok"}, {"durability", "raft"}}
	}
	if s.Persistence == nil {
		return []field{{"loading", 0}, {"aof_enabled", 0}, {"rdb_bgsave_in_progress", 0}, {"rdb_last_save_time", s.LastSave()}, {"rdb_last_bgsave_status", "ok"}, {"durability", "none"}}
	}
	st := s.Persistence.Status()
	fields := []field{{"loading", 0}, {"aof_enabled", zeroOrOne(st.Mode != "snapshot")}}
	if st.Mode != "snapshot" {
		fields = append(fields, field{"aof_last_write_status", okOrErr(st.Err)})
	}
	fields = append(fields, []field{
		{"rdb_bgsave_in_progress", zeroOrOne(st.Saving)},
		{"rdb_last_save_time", s.LastSave()}, {"rdb_last_bgsave_status", okOrErr(st.LastSaveErr)},
		{"durability", st.Mode}, {"snapshot_bytes", st.SnapshotBytes}, {"snapshot_keys", st.SnapshotKeys},
		{"journal_bytes", st.JournalBytes}, {"journal_written_bytes", st.Journaled}, {"journal_flushed_until_usec", st.FlushedUntil / 1000},
	}...)
	if st.Err != nil {
		fields = append(fields, field{"persistence_error", st.Err})
	}
	if st.LastSaveErr != nil {
		fields = append(fields, field{"snapshot_error", st.LastSaveErr})
	}
	return fields
}

func okOrErr(err error) string {
	if err != nil {
		return "err"
	}
	return "ok"
}
