package e2e_test

import (
	"path/filepath"
	"testing"
)

func TestThePageOnQueuesDoesWhatItSays(t *testing.T) {
	t.Parallel()
	requirePage(t, filepath.Join("..", "docs", "queues.md"), 6)
}
