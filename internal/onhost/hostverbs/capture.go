package hostverbs

import (
	"bytes"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/declare/packets"
	"nearfar/internal/onhost/capture"
)

// CapturePackets is the verb that captures the packets of one trial, until it is ended.
func (v *Verbs) CapturePackets() *cobra.Command {
	return &cobra.Command{
		Use:   packets.Verb,
		Short: "Capture a trial's packets at the devices of this host",
		Long: `Reads what to capture from standard input, as JSON, and writes "` + packets.Capturing + `" to standard error
when packets are captured. SIGTERM ends the capture, which is then written as pcapng.`,
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := optionsOf(v.Stdin, packets.DecodeOptions)
			if err != nil {
				return err
			}
			flow := capture.Flow{Protocol: o.Protocol, Servers: o.Servers, Port: o.Port, Clients: o.Clients}
			w, err := capture.BeginFlow(flow, o.Places)
			if err != nil {
				return err
			}
			defer w.Close()
			fmt.Fprintln(v.Stderr, packets.Capturing)
			select {
			case <-cmd.Context().Done():
			case <-time.After(o.Longest):
			}
			points, err := w.End()
			if err != nil {
				return err
			}
			comment := o.Comment
			if w.LeftOut > 0 {
				comment += fmt.Sprintf("; %d further devices were left out", w.LeftOut)
			}
			var file bytes.Buffer
			if err := capture.Write(&file, "nearfar", comment, points, time.Now().UnixNano()); err != nil {
				return err
			}
			_, err = v.Data.Write(file.Bytes())
			return err
		},
	}
}
