package protocol

import "fmt"

// MinVersion and MaxVersion are what this program speaks.
const (
	MinVersion uint8 = 1
	MaxVersion uint8 = 1
)

// VersionRange is an inclusive range of versions of this protocol, 1 or higher.
type VersionRange struct {
	Min, Max uint8
}

// String returns "1" or "1 to 3".
func (v VersionRange) String() string {
	if v.Min == v.Max {
		return fmt.Sprint(v.Min)
	}
	return fmt.Sprintf("%d to %d", v.Min, v.Max)
}

// Negotiate returns the highest version that both sides speak. Its error is for the operators of both sides; refuse the
// session with CodeVersion.
func Negotiate(theirs VersionRange) (uint8, error) {
	if theirs.Min > MaxVersion || theirs.Max < MinVersion {
		return 0, fmt.Errorf("no version in common: the peer speaks %s, this agent %s", theirs, VersionRange{MinVersion, MaxVersion})
	}
	return min(theirs.Max, MaxVersion), nil
}
