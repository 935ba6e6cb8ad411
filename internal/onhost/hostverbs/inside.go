package hostverbs

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	declared "nearfar/internal/declare/inside"
	"nearfar/internal/onhost/inside"
)

// insidePatience is how much longer than its trial a watch may last, if nobody ends it.
const insidePatience = time.Minute

// InsideWatch is the verb that watches the packets of one trial inside the kernel, until it is ended.
func (v *Verbs) InsideWatch() *cobra.Command {
	return &cobra.Command{
		Use:   declared.Verb,
		Short: "Watch what happens to a trial's packets inside the kernel",
		Long: `Reads what to look for from standard input, as JSON, and writes "` + declared.Watching + `" to standard error
when the kernel watches. SIGTERM ends the watch. What was seen is then written as JSON.`,
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := optionsOf(v.Stdin, declared.DecodeOptions)
			if err != nil {
				return err
			}
			w, err := inside.Begin(o)
			if err != nil {
				return v.sawNothing(o, err)
			}
			defer w.Close()
			fmt.Fprintln(v.Stderr, declared.Watching)
			select {
			case <-cmd.Context().Done():
			case <-time.After(o.Warmup + o.Duration + insidePatience):
			}
			seen, err := w.End()
			if err != nil {
				return v.sawNothing(o, err)
			}
			return json.NewEncoder(v.Data).Encode(seen)
		},
	}
}

// InsideSpace is the verb that prints the network namespace of this host: a watcher elsewhere on the machine knows by
// it where requests begin.
func (v *Verbs) InsideSpace() *cobra.Command {
	return &cobra.Command{
		Use:    declared.SpaceVerb,
		Short:  "Print the number of this host's network namespace",
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			space, err := inside.OwnNamespace()
			if err != nil {
				return err
			}
			fmt.Fprintln(v.Stdout, space)
			return nil
		},
	}
}

// sawNothing writes the record of a watch that was not possible.
func (v *Verbs) sawNothing(o declared.Options, why error) error {
	return json.NewEncoder(v.Data).Encode(declared.Unknown(o.Side, why))
}
