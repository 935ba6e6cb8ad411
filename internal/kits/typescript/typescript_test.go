package typescript

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/check"
	"nearfar/internal/kits/moduleroot"
)

type shared struct {
	Unit  string `json:"unit"`
	Scope string `json:"scope,omitempty"`
}

type ends struct{ low, high float64 }

// MarshalJSON writes both ends as a list.
func (e *ends) MarshalJSON() ([]byte, error) { return json.Marshal([]float64{e.low, e.high}) }

// Expectation has the name of a type of another package.
type Expectation struct{ Plain int }

type document struct {
	shared
	State    check.Outcome       `json:"state"`
	Words    []string            `json:"words"`
	Values   []*float64          `json:"values"`
	Pair     *[2]int             `json:"pair,omitempty"`
	By       map[string]*float64 `json:"by"`
	At       time.Time           `json:"at,omitzero"`
	Ended    *time.Time          `json:"ended"`
	Any      any                 `json:"any"`
	Count    uint64              `json:"count"`
	Interval *ends               `json:"interval"`
	Again    *document           `json:"again,omitempty"`
	Other    check.Expectation   `json:"other"`
	Own      Expectation         `json:"own"`
	Kind     string              `json:"kind"`
	List     []shared            `json:"list,omitempty"`
	hidden   int                 //nolint:unused // the test says that it is not written
	Left     int                 `json:"-"`
}

func described(t *testing.T, types ...reflect.Type) Document {
	t.Helper()
	root, err := moduleroot.Find()
	if err != nil {
		t.Fatal(err)
	}
	return Document{Types: types, Root: root}
}

func TestWrite(t *testing.T) {
	d := described(t, reflect.TypeFor[document]())
	d.Names = map[reflect.Type]string{reflect.TypeFor[document](): "Whole", reflect.TypeFor[*ends](): "Interval"}
	d.Aliases = map[reflect.Type]string{reflect.TypeFor[*ends](): "[number, number] | null"}
	d.Words = map[string]string{"Place": "nearfar/internal/conclude/answer.OfLayer"}
	d.Fields = map[string]string{"Whole.kind": "Place", "*.unit": "Place", "Whole.words": "| null"}
	text, err := d.Write()
	if err != nil {
		t.Fatal(err)
	}
	want := `
export interface Expectation {
  name: string;
  path?: string;
  value: unknown;
}

export type Interval = [number, number] | null;

export type Outcome =
  | "proved"
  | "refuted"
  | "unknown";

export type Place =
  | "layer"
  | "arm"
  | "failures";

export interface TypescriptExpectation {
  Plain: number;
}

export interface Whole {
  unit: Place;
  scope?: string;
  state: Outcome;
  words: string[] | null;
  values: (number | null)[];
  pair?: [number, number];
  by: Record<string, number | null>;
  at?: string;
  ended: string | null;
  any: unknown;
  count: number;
  interval: Interval;
  again?: Whole;
  other: Expectation;
  own: TypescriptExpectation;
  kind: Place;
  list?: shared[];
}

export interface shared {
  unit: Place;
  scope?: string;
}
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What cannot be written is refused, not written wrongly.
func TestWriteRefuses(t *testing.T) {
	type two struct {
		Unit string `json:"unit"`
		shared
	}
	for _, c := range []struct {
		of    reflect.Type
		field string
		want  string
	}{
		{reflect.TypeFor[two](), "", `two fields "unit"`},
		{reflect.TypeFor[struct{ *shared }](), "", "cannot be written"},
		{reflect.TypeFor[struct {
			N int `json:",string"`
		}](), "", "cannot be written"},
		{reflect.TypeFor[struct{ E ends }](), "", "writes its own JSON"},
		{reflect.TypeFor[struct{ C chan int }](), "", "has no type in TypeScript"},
		{reflect.TypeFor[shared](), "shared.gone", "no field shared.gone"},
	} {
		d := described(t, c.of)
		d.Fields = map[string]string{}
		if c.field != "" {
			d.Fields[c.field] = "string"
		}
		if text, err := d.Write(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q\n%s", c.of, err, c.want, text)
		}
	}
	d := described(t)
	d.Words = map[string]string{"Place": "nearfar/internal/conclude/answer.Nothing"}
	if _, err := d.Write(); err == nil || !strings.Contains(err.Error(), "no constant") {
		t.Errorf("an unknown constant: %v", err)
	}
}
