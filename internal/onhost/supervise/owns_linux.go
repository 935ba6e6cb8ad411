package supervise

// owns says whether a running process belongs to the tree.
func (p *tree) owns(pid int) bool {
	all := map[int]processStat{}
	for at := pid; at > 1; {
		q, ok := readStat(at)
		if _, seen := all[at]; !ok || seen {
			break
		}
		all[at] = q
		at = q.parent
	}
	q, ok := all[pid]
	return ok && p.has(all, q, p.isRunning())
}
