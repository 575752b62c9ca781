package bolt

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	bbolt "go.etcd.io/bbolt"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/spool"
)

// The caps of the ledger unless Options sets them.
const (
	DefaultLedgerMemoryBytes = 64 << 20
	DefaultLedgerMaxBytes    = 1 << 30
)

// Options are the settings of a store.
type Options struct {
	// Agent is the name of this agent: the origin of what is put here. Needed.
	Agent string
	// Queues are the configured queues. One that is in the file and not here is kept as it is and takes nothing.
	Queues map[string]spool.QueueOptions
	// LedgerMemoryBytes bounds the index of the ids that are remembered; the oldest are forgotten when it is full. Default
	// DefaultLedgerMemoryBytes.
	LedgerMemoryBytes int
	// LedgerMaxBytes bounds the rows of the ledger in the file likewise. Default DefaultLedgerMaxBytes.
	LedgerMaxBytes uint64
	// Log is the null logger if nil.
	Log hclog.Logger
	// Now is the wall clock, time.Now if nil; it is called from many goroutines. Lease deadlines and ages do not depend on it while the store is open.
	Now func() time.Time
	// Hook is called at each of HookPoints. Its error is taken for one of the file. Tests only.
	Hook func(point string) error
}

// Store is a spool.Store in one bbolt file.
type Store struct {
	dir     string
	options Options
	log     hclog.Logger
	clock   *clock
	hasher  *dedupe.Hasher
	lock    *os.File
	damage  *damage

	intake   *intake
	watchers *watchers
	readers  readers
	view     atomic.Pointer[snapshot]
	commits  atomic.Uint64

	// The committer's own.
	db     *bbolt.DB
	memory *memory

	closeOnce sync.Once
	closing   chan struct{}
	ended     chan struct{} // the committer has returned
	failed    chan struct{}
	failure   error // set before failed is closed
}

var (
	_ spool.Store  = (*Store)(nil)
	_ spool.Ledger = (*Store)(nil)
)

// Open opens the spool in dir, or creates it, and begins a new epoch. It returns an error that wraps spool.ErrInUse, at
// once, if another process or another Store has it.
func Open(dir string, o Options) (*Store, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("open spool %s: %w", dir, err)
	}
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir:      dir,
		options:  o,
		log:      o.Log,
		lock:     lock,
		damage:   newDamage(o.Log),
		intake:   newIntake(),
		watchers: newWatchers(),
		closing:  make(chan struct{}),
		ended:    make(chan struct{}),
		failed:   make(chan struct{}),
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("open spool %s: %w", dir, err), s.lock.Close())
	}
	go s.run()
	return s, nil
}

// complete fills in the defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	if err := message.CheckAgent(o.Agent); err != nil {
		return o, err
	}
	queues, err := spool.CompleteQueues(o.Queues)
	if err != nil {
		return o, err
	}
	o.Queues = queues
	if o.LedgerMemoryBytes == 0 {
		o.LedgerMemoryBytes = DefaultLedgerMemoryBytes
	}
	if o.LedgerMaxBytes == 0 {
		o.LedgerMaxBytes = DefaultLedgerMaxBytes
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// start opens the file for the first time.
func (s *Store) start() error {
	if err := s.options.createIfMissing(s.dir); err != nil {
		return err
	}
	id, err := checkStamp(s.dir)
	if err != nil {
		return err
	}
	if err := s.openFile(); err != nil {
		return err
	}
	if err := s.load(id); err != nil {
		return errors.Join(err, s.db.Close())
	}
	s.readers.open(s.db)
	return nil
}

// mmapBytes are the sizes of the mapping that are tried. A large one costs only addresses and saves the writer from waiting
// for readers when the file grows; under a limit of address space a smaller one must do.
func mmapBytes() []int {
	return []int{min(64<<30, math.MaxInt/2), 8 << 27, 128 << 20, 0}
}

func (s *Store) openFile() error {
	path := filepath.Join(s.dir, dbFile)
	var err error
	for _, size := range mmapBytes() {
		s.db, err = bbolt.Open(path, fileMode, &bbolt.Options{
			FreelistType:    bbolt.FreelistMapType,
			InitialMmapSize: size,
			Timeout:         lockTimeout,
		})
		if !errors.Is(err, syscall.ENOMEM) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return nil
}

// Close implements spool.Store.
func (s *Store) Close() error {
	var err error
	s.closeOnce.Do(func() {
		close(s.closing)
		<-s.ended
		s.intake.refuse(spool.ErrClosed)
		s.readers.shut(spool.ErrClosed)
		err = s.options.pass(HookCloseBegin)
		if s.db != nil {
			if err == nil {
				err = s.leaveFreelist()
			}
			err = errors.Join(err, s.db.Close())
		}
		err = errors.Join(err, s.lock.Close())
	})
	return err
}

// Failed implements spool.Store.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err implements spool.Store.
func (s *Store) Err() error {
	select {
	case <-s.failed:
		return s.failure
	default:
		return nil
	}
}
