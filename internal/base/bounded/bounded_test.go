package bounded

import "testing"

func TestBufferKeepsTheStart(t *testing.T) {
	b := New(10)
	for range 5 {
		if n, err := b.Write([]byte("abcd")); n != 4 || err != nil {
			t.Fatalf("a write returned %d, %v", n, err)
		}
	}
	if got := string(b.Bytes()); got != "abcdabcdab" {
		t.Errorf("kept %q", got)
	}
	if b.Cut() != "printed 10 bytes more than the 10 that are kept" {
		t.Errorf("says %q", b.Cut())
	}
}
