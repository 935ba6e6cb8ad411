package provision

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"nearfar/internal/base/files"
	"nearfar/internal/cloud/audit"
)

// The states of machines.
const (
	// StateMaking: an up is at work, or was killed.
	StateMaking = "making"
	// StateUp: all machines are there.
	StateUp = "up"
	// StateFailed: an up failed or was interrupted, and what it made is still there.
	StateFailed = "failed"
	// StateRedeploying: a run makes machines anew, or was killed while it did.
	StateRedeploying = "redeploying"
	// StateDestroying: a down is at work, failed or was killed.
	StateDestroying = "destroying"
)

// A Record says what was made, for whom and until when. It has no values of variables, since these can be secrets,
// apart from those that the file declares in retry.
type Record struct {
	Nearfar string `json:"nearfar"`
	Name    string `json:"name"`
	// File is the experiment file, Module the folder of the module, scripts or app, Folder the folder of the record:
	// absolute paths.
	File   string `json:"file"`
	Module string `json:"module"`
	Folder string `json:"folder"`
	// Tool and Version are the program that made the machines: tofu, terraform, az or cdk. The scripts of az have no
	// version.
	Tool    string `json:"tool"`
	Version string `json:"version"`
	Owner   string `json:"owner"`
	State   string `json:"state"`
	// Since is when the first up began, Until when the machines are past their time.
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Resources is how many resources were there after the last command; 0 if that is not known, as for scripts.
	Resources int `json:"resources,omitempty"`
	// Hourly is what is known of the price for an hour, in US dollars; HourlyAtLeast says that something can cost more.
	// Hourly is nil if no price is known.
	Hourly        *float64 `json:"hourly_usd,omitempty"`
	HourlyAtLeast bool     `json:"hourly_at_least,omitempty"`
	// HourlyDate is the oldest date of the prices of nearfar's table in Hourly (YYYY-MM-DD), and HourlySources say
	// where they were published. Both are empty if no price is from the table.
	HourlyDate    string   `json:"hourly_date,omitempty"`
	HourlySources []string `json:"hourly_sources,omitempty"`
	// Attempt is the number of the attempt whose variables hold, and Attempts are all that were made.
	Attempt  int       `json:"attempt,omitempty"`
	Attempts []Attempt `json:"attempts,omitempty"`
	// MadeID names the machines that are there: it is another one each time when machines are made.
	MadeID string `json:"made_id,omitempty"`
	// Replaced are the addresses of the resources that runs make anew; empty before the first time.
	Replaced []string `json:"replaced,omitempty"`
	// Lost are resources that were made, and that the state does not have. They are deleted by hand, or imported.
	Lost []Lost `json:"lost,omitempty"`
	// Places are where a provider is asked for what is left; Untagged says that the module does not take the name of
	// the run, so that its resources cannot be found by their tags.
	Places   []audit.Place `json:"places,omitempty"`
	Untagged bool          `json:"untagged,omitempty"`
	// Nearfar's process while it is at work, and the program that it runs or ran last.
	Process *Process `json:"process,omitempty"`
	Program *Process `json:"program,omitempty"`
}

// An Attempt is one try of up.
type Attempt struct {
	At time.Time `json:"at"`
	// Variables are those of an entry of retry, as NAME=VALUE; none for the values of the file.
	Variables []string `json:"variables,omitempty"`
	// Refused is the provider's code, such as AllocationFailed; empty if nothing was refused for lack of capacity.
	Refused string `json:"refused,omitempty"`
	// Resource is the address of the resource that was refused.
	Resource string `json:"resource,omitempty"`
	// Done says that everything was made.
	Done bool `json:"done,omitempty"`
}

// price keeps what is known of the price for an hour.
func (r *Record) price(c Cost) {
	r.Hourly, r.HourlyAtLeast, r.HourlyDate, r.HourlySources = nil, false, "", nil
	if c.Known() {
		dollars, atLeast := c.Hourly()
		r.Hourly, r.HourlyAtLeast = &dollars, atLeast
		r.HourlyDate, r.HourlySources = c.Dates()
	}
}

// StateText says in words how it is with the machines.
func (r *Record) StateText() string {
	during := func(works, killed string) string {
		if r.Process.ended() {
			return killed
		}
		return works
	}
	switch r.State {
	case StateUp:
		return "they are up"
	case StateMaking:
		return during("nearfar up is making them", "nearfar up was killed while it made them")
	case StateRedeploying:
		return during("nearfar run is making them anew", "nearfar run was killed while it made them anew")
	case StateFailed:
		return "nearfar up failed, and part of them may exist"
	case StateDestroying:
		return during("nearfar down is deleting them", "nearfar down did not end, and part of them may exist")
	}
	return "their state is not known"
}

const (
	recordFile = "record.json"
	maxRecord  = 1 << 20 // bytes
)

// readRecord reads the record in a folder; nil if there is none.
func readRecord(folder string) (r *Record, err error) {
	path := filepath.Join(folder, recordFile)
	data, err := files.ReadRegular(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r = &Record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s is no record: %w", path, err)
	}
	r.Folder = folder
	return r, nil
}

// save writes the record so that it is whole at every moment, and is there after a power failure.
func (p *Project) save(change func(r *Record)) error {
	change(p.record)
	data, err := json.MarshalIndent(p.record, "", "  ")
	if err != nil {
		return err
	}
	return files.WriteWhole(filepath.Join(p.folder, recordFile), append(data, '\n'))
}

// makeFolder makes the folder of the record and the state. Git does not see it: states can have secrets.
func makeFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	ignore := filepath.Join(filepath.Dir(folder), ".gitignore")
	if _, err := os.Stat(ignore); errors.Is(err, fs.ErrNotExist) {
		return os.WriteFile(ignore, []byte("*\n"), 0o600)
	}
	return nil
}
