package agent

import "golang.org/x/sys/unix"

// readSystem reads what Linux says of the agent.
func (f *Facts) readSystem(folder string) {
	var disk unix.Statfs_t
	if unix.Statfs(folder, &disk) == nil {
		f.Free = int64(disk.Bavail) * disk.Bsize
	}
}
