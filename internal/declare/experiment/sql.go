package experiment

// The scripts of pgbench: what a transaction is.
const (
	// TPCB is five statements between BEGIN and END, which is pgbench's own default.
	TPCB = "tpcb-like"
	// SimpleUpdate leaves out the two updates that transactions wait for each other at.
	SimpleUpdate = "simple-update"
	// SelectOnly is one SELECT.
	SelectOnly = "select-only"
)

func scriptWords() []string { return []string{TPCB, SimpleUpdate, SelectOnly} }

func scriptKey() Key {
	return words(func(w *Workload) *string { return &w.Script }, scriptWords(), Key{
		Name: "script", About: "What a transaction is ({{WhoTakes}}): tpcb-like has seven statements, simple-update five, " +
			"select-only one. Each statement is a round trip. Default: tpcb-like.",
	})
}
