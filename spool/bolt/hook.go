package bolt

// Points at which Options.Hook is called, in the order in which a store passes them. Tests stand at each of them, return
// an error or kill the process, and look what a later opening finds.
const (
	// HookCreateBegin: the directory is there and locked; nothing of a spool is.
	HookCreateBegin = "create.begin"
	// HookCreateFile: spool.db.new is initialised, closed and synced.
	HookCreateFile = "create.file"
	// HookCreateStampFile: spool.id.new is synced; spool.id has no name yet.
	HookCreateStampFile = "create.stamp-file"
	// HookCreateStamp: spool.id has its name; spool.db has not.
	HookCreateStamp = "create.stamp"
	// HookCreateDone: spool.db has its name.
	HookCreateDone = "create.done"
	// HookOpenEpoch: the new epoch is in the transaction that is about to be committed.
	HookOpenEpoch = "open.epoch"
	// HookOpenDone: the new epoch is durable; nobody is served in it.
	HookOpenDone = "open.done"
	// HookCommitBegin: a group was taken; its transaction has not begun.
	HookCommitBegin = "commit.begin"
	// HookCommitApplied: all of the group is in the transaction, nothing is in the file. An error here is a commit that
	// failed and left nothing behind.
	HookCommitApplied = "commit.applied"
	// HookCommitDone: the group is durable and nobody has been answered. An error here is a commit that reported an error
	// although it is in the file.
	HookCommitDone = "commit.done"
	// HookReopen: the file is closed after a failed commit and about to be opened again. An error here is an attempt that
	// failed.
	HookReopen = "reopen"
	// HookCloseBegin: the committer has ended; the list of free pages may be missing in the file. An error here leaves it so.
	HookCloseBegin = "close.begin"
)

// HookPoints returns all points, so that one test can go through them and a new point without a test is noticed.
func HookPoints() []string {
	return []string{
		HookCreateBegin, HookCreateFile, HookCreateStampFile, HookCreateStamp, HookCreateDone, HookOpenEpoch, HookOpenDone,
		HookCommitBegin, HookCommitApplied, HookCommitDone, HookReopen, HookCloseBegin,
	}
}

// pass tells the hook, if there is one, that point is reached.
func (o *Options) pass(point string) error {
	if o.Hook == nil {
		return nil
	}
	return o.Hook(point)
}
