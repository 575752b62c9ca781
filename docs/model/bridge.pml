/*
 * The protocol between two spools, for the model checker Spin. README.md beside it says what is checked and how to run it.
 *
 * One fifo lane of one route: a sender's spool, a receiver's spool, and between them a link that loses, repeats and
 * reorders. The receiver decides in two handlers at once, so that a frame of a broken connection may still wait to be
 * decided when the next connection stands. Either side may crash; either spool may be put back from an older copy.
 *
 * A message is (id, generation); it gets a number as it becomes ready. A stream is the lane in one epoch, and the receiver
 * keeps a frontier for each. Here no number is given twice in any epoch, so one byte names (stream, number).
 *
 * What may happen while all rules are kept (default):
 *   MESSAGES (2)   messages that are stored
 *   FAULTS (1)     losses, repetitions, overtakings, broken connections and crashes in one run, together
 *   EXPIRE (1)     messages that ttl, horizon or owner wants to end in one run
 *   REFUSE (0)     1: the receiver may refuse a message for its own fault, each time anew
 *   PRUNE          the ledger may forget a message, which is then older than the effective window
 *   REQUEUE (0)    1: a dead letter may be requeued, once in each life of the spool
 *   RESTORES (0)   how often the sender's spool is put back from the copy
 *   MORE (0)       messages that are stored after a restore
 *   UNTOLD         the restored sender learns of the restore only with its next Welcome
 *   FAR_RESTORE    the receiver's spool is put back once
 *
 * Every other switch breaks one rule. It stands where the rule does; check.sh lists which promise falls with it.
 */
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef EXPIRE
#define EXPIRE 1
#endif
#ifndef REFUSE
#define REFUSE 0
#endif
#ifndef REQUEUE
#define REQUEUE 0
#endif
#ifndef RESTORES
#define RESTORES 0
#endif
#ifndef MORE
#define MORE 0
#endif

#define FIRST_LIFE (MESSAGES + REQUEUE)                     /* numbers of the spool's first life */
#define LATER_LIFE (MESSAGES + MORE + REQUEUE)              /* numbers of each life after a restore */
#define NUMBERS    (FIRST_LIFE + LATER_LIFE * RESTORES)     /* the highest number */
#define EPOCHS     (FAULTS + RESTORES + 1)

#if NUMBERS > 8
#error "a set of numbers is one byte: at most 8 numbers"
#endif

/* Sets of numbers, or of ids: both count from 1, and each has its bit. */
#define BIT(i)      (1 << ((i) - 1))
#define HAS(s, i)   ((s) & BIT(i))
#define UPTO(i)     ((1 << (i)) - 1)
#define ABOVE(s, i) ((s) & ~UPTO(i))

/* Never set. Each assertion names the promise it is about, because Spin prints the expression that did not hold. */
hidden byte twice, both, lost, order, report;

/* ------------------------------------------------------------------------------------------------ the sender's disk */

byte held;                      /* numbers that are ready and not settled */
byte next = 1;                  /* the next number */
byte epoch;
bool reopened;                  /* the next number begins a new epoch */
byte epochOf[NUMBERS + 1];      /* number -> epoch, that is, stream */
byte idOf[NUMBERS + 1];         /* number -> id */
byte second;                    /* numbers whose message has generation 1 */
byte stored;                    /* messages stored so far */
byte mark;                      /* the shipped mark: what is held at or below it is in doubt */
byte dead;                      /* ids of the dead letters of generation 0 */
byte died[2];                   /* generation -> ids that ever were dead letters for another reason than in-doubt */
byte requeues = REQUEUE;        /* requeues left in this life */
byte life;                      /* restores so far */
byte cameBack;                  /* numbers that came back with a restored copy */
byte backIds;                   /* ids that came back, held or dead */
byte again;                     /* numbers that a requeue gave to those: their frames are marked again */
byte delivered;                 /* FAR_RESTORE: the highest number settled as delivered */

bool copied;                    /* the copy was taken, and what it holds: */
byte heldCopy, nextCopy, markCopy, deadCopy, diedCopy[2];

/* ---------------------------------------------------------------------------------------------- the sender's memory */

byte closing;                   /* numbers for which Close is shipped from now on */
bool untold;                    /* was restored, and no Welcome has said so yet */
byte keptPrev[NUMBERS + 1];     /* KEPT_PREV: number -> 1 + the prev of its first frame */
byte youngThen;                 /* YOUNG_BY_SENDER: numbers that were young when last shipped */

/* ---------------------------------------------------------------------------------------------- the receiver's disk */

byte frontier[EPOCHS];          /* per stream, the highest number admitted or closed */
byte closed;                    /* closed numbers */
byte ledger[2];                 /* generation -> ids that have a row */
byte enqueued[2];               /* generation -> ids that entered the far queue */
byte highest;                   /* the highest number that entered it */
byte old;                       /* ids older than the effective window */
bool farBack;                   /* this spool was put back from its copy */
byte admitted;                  /* FAR_RESTORE: numbers that were enqueued before that */

bool farCopied;                 /* the copy was taken, and what it holds: */
byte frontierCopy[EPOCHS], closedCopy, ledgerCopy[2], enqueuedCopy[2], highestCopy;

/* -------------------------------------------------------------------------------------------- the receiver's memory */

/* The two handlers, by process id. What is done with: step 0 is idle, 1 has taken a frame; 2 only if a rule is broken. */
byte stepOf[2], numberOf[2], frameOf[2], verdictOf[2];
bool ended[2];                  /* SESSION_GOES_ON: the session of the frame has ended */

/* ------------------------------------------------------------------------------------------------------ the link */

byte frame[NUMBERS + 1];        /* number -> its frame on the way, if it is in shipped */
byte shipped;
byte answer[NUMBERS + 1];       /* number -> its answer on the way, if it is in answered */
byte answered;
bool inForce = true;            /* a session is in force whose Welcome named the receiver's present epoch */

byte faults = FAULTS;           /* faults left */
byte expiries = EXPIRE;         /* messages that may still be ended */
byte late;                      /* numbers that a lost life had ended undelivered: no order is promised for them */

#define GENERATION(n) (HAS(second, n) -> 1 : 0)

/* A frame is what Ship (0) or Close (1) says beside the number: prev, 0 if there is none. 0 is no frame. */
#define FRAME(close, prev) (1 + (close) + 2 * (prev))
#define IS_CLOSE(f)        (((f) - 1) & 1)
#define PREV(f)            (((f) - 1) >> 1)

/* Verdicts, as they are answered. */
#define DELIVERED 1             /* accepted or duplicate: the sender does the same with both */
#define BELOW     2
#define CLOSED    3
#define REFUSED   4
#define NOT_YOUNG 8             /* added to BELOW and CLOSED: the message is older than the effective window */
#define AGE(id)   (life && HAS(old, id) -> NOT_YOUNG : 0)

/* Verdicts before they are committed. */
#define ADMIT     5
#define SAME_ID   6
#define SHUT      7

#define IDLE(h) stepOf[h] = 0; numberOf[h] = 0; frameOf[h] = 0; verdictOf[h] = 0; ended[h] = 0

/* Any member of the set, into i. Local variables are zeroed after use, so that equal states look equal. */
inline any(set)      { i = 1; do :: HAS(set, i) -> break :: ABOVE(set, i) -> i++ od }
inline dropFrames()  { i = 1; do :: i > NUMBERS -> break :: else -> frame[i] = 0; i++ od; shipped = 0; i = 0 }
inline dropAnswers() { i = 1; do :: i > NUMBERS -> break :: else -> answer[i] = 0; i++ od; answered = 0; i = 0 }

/* ==================================================================================================== the receiver */

/* A frame waits while the nearest lower message that the sender still holds is undecided here, in whichever stream. */
#if defined(NO_PREV)
#define WAITS false
#elif defined(CLOSE_WITHOUT_PREV)
#define WAITS (!IS_CLOSE(f) && PREV(f) && PREV(f) > frontier[epochOf[PREV(f)]])
#else
#define WAITS (PREV(f) && PREV(f) > frontier[epochOf[PREV(f)]])
#endif

/* At or below the frontier the ledger is asked first: the row may have come under another number, after the Close. */
#ifdef CLOSED_BEFORE_ROW
#define ROW (HAS(ledger[g], id) && !HAS(closed, n))
#else
#define ROW HAS(ledger[g], id)
#endif

/* A Close asks the ledger like a Ship: the message may be here under another number. */
#ifdef CLOSE_WITHOUT_LEDGER
#define KNOWN (HAS(ledger[g], id) && !IS_CLOSE(f))
#else
#define KNOWN HAS(ledger[g], id)
#endif

/* Marked again and not young: its row may have been here and be forgotten, so it is neither known nor new. */
#ifdef NO_AGAIN
#define UNSURE false
#else
#define UNSURE (HAS(again, n) && HAS(old, id))
#endif

inline decide() {
	id = idOf[n]; g = GENERATION(n); v = 0;
	if
	:: n <= frontier[epochOf[n]] ->                             /* decided before: answer again, never enqueue */
		if
		:: ROW -> v = DELIVERED
		:: !ROW && HAS(closed, n) -> v = CLOSED + AGE(id)
		:: !ROW && !HAS(closed, n) -> v = BELOW + AGE(id)
		fi
	:: n > frontier[epochOf[n]] && WAITS -> skip                /* too early: no answer, so it comes again */
	:: n > frontier[epochOf[n]] && !(WAITS) ->
		if
		:: KNOWN -> v = SAME_ID
		:: !KNOWN && IS_CLOSE(f) -> v = SHUT
		:: !KNOWN && !IS_CLOSE(f) && !(UNSURE) -> v = ADMIT
		:: !KNOWN && !IS_CLOSE(f) && (REFUSE || UNSURE) -> v = REFUSED
		fi
	fi
}

/* What is remembered of a decision: frontier, closed number, ledger row. A refusal leaves the number open. */
inline remember() {
	if
	:: v == SHUT -> frontier[epochOf[n]] = n; closed = closed | BIT(n)
	:: v == SAME_ID -> frontier[epochOf[n]] = n
	:: v == ADMIT -> frontier[epochOf[n]] = n; ledger[g] = ledger[g] | BIT(id)
#ifdef REFUSED_ADVANCES
	:: v == REFUSED -> frontier[epochOf[n]] = n
#endif
	:: else
	fi
}

inline enqueue() {
	if
	:: v == ADMIT ->
		assert(!HAS(enqueued[g], id) || twice);
		assert(!HAS(died[g], id) || both);
		assert(n > highest || HAS(late, n) || order);
		if :: n > highest -> highest = n :: else fi;
		enqueued[g] = enqueued[g] | BIT(id)
#ifdef FAR_RESTORE
		; if :: farBack -> skip :: else -> admitted = admitted | BIT(n) fi
#endif
	:: else
	fi
}

/* The answer leaves, unless the session has ended. Afterwards it may be lost like anything else. */
inline reply() {
	if
	:: v == SHUT -> v = CLOSED + AGE(id)
#ifdef SILENT_DUPLICATE
	:: v == DELIVERED || v == SAME_ID -> v = 0
#else
	:: v == SAME_ID -> v = DELIVERED
#endif
	:: v == ADMIT -> v = DELIVERED
	:: else
	fi;
	if :: v && inForce && !ended[_pid] -> answer[n] = v; answered = answered | BIT(n) :: else fi
}

/* Takes a frame, decides it at any later time. Processes 0 and 1; the second only works while the first is busy, since
 * it makes no difference which of two idle ones takes a frame. */
active [2] proctype handler() {
	byte n, f, id, g, v;
end:
	do
	:: atomic { stepOf[_pid] == 0 && shipped && (_pid == 0 || stepOf[0]) ->
		n = 1;
		do
		:: HAS(shipped, n) -> break
		:: !HAS(shipped, n) -> n++
		:: HAS(shipped, n) && ABOVE(shipped, n) && faults > 0 -> faults--; n++      /* it is overtaken */
		od;
		stepOf[_pid] = 1; numberOf[_pid] = n; frameOf[_pid] = frame[n];
		if
		:: frame[n] = 0; shipped = shipped & ~BIT(n)
		:: faults > 0 -> faults--                                                   /* it comes twice */
		fi;
		n = 0; f = 0; id = 0; g = 0; v = 0 }
	:: atomic { stepOf[_pid] == 1 ->
		n = numberOf[_pid]; f = frameOf[_pid]; decide();
#if defined(DECIDE_OUTSIDE)
		stepOf[_pid] = 2; verdictOf[_pid] = v;
#elif defined(ANSWER_FIRST)
		stepOf[_pid] = 2; reply();
#elif defined(LEDGER_APART)
		remember(); stepOf[_pid] = 2; verdictOf[_pid] = v;
#elif defined(QUEUE_APART)
		enqueue(); stepOf[_pid] = 2; verdictOf[_pid] = v;
#else
#ifdef EARLY_DUPLICATE
		if :: v == ADMIT && stepOf[1 - _pid] == 1 && numberOf[1 - _pid] == n -> v = DELIVERED :: else fi;
#endif
		remember(); enqueue(); reply(); IDLE(_pid);             /* decided and stored in one transaction */
#endif
		n = 0; f = 0; id = 0; g = 0; v = 0 }
#if defined(DECIDE_OUTSIDE) || defined(ANSWER_FIRST) || defined(LEDGER_APART) || defined(QUEUE_APART)
	:: atomic { stepOf[_pid] == 2 ->
		n = numberOf[_pid]; f = frameOf[_pid]; id = idOf[n]; g = GENERATION(n); v = verdictOf[_pid];
#ifdef ANSWER_FIRST
		decide();
#endif
#ifndef LEDGER_APART
		remember();
#endif
#ifndef QUEUE_APART
		enqueue();
#endif
		reply(); IDLE(_pid); n = 0; f = 0; id = 0; g = 0; v = 0 }
#endif
	od
}

/* What a restored receiver stores as lost: settled as delivered at the sender, above the frontier here, not held there. */
#ifdef REPORT_FROM_FLOOR
#define NAMED(n) !(held & UPTO(n))
#else
#define NAMED(n) (n <= delivered)
#endif

/* Each message that the rollback has taken away is still held by the sender, or is named. */
inline tellLost() {
	i = 1;
	do
	:: i > NUMBERS -> break
	:: else ->
		assert(!HAS(admitted, i) || HAS(enqueued[GENERATION(i)], idOf[i]) || HAS(held, i) ||
			i > frontier[epochOf[i]] && NAMED(i) || report);
		i++
	od;
	admitted = 0; i = 0
}

active proctype receiver() {
	byte i;
end:
	do
	/* A session is put in force. It ends the one before: frames of that one are not decided any more, and answers of an
	 * earlier epoch of this spool do not count any more. */
	:: atomic { !inForce -> inForce = true; dropFrames();
#ifndef OLD_ANSWERS
		dropAnswers();
#endif
#ifdef SESSION_GOES_ON
		ended[0] = (stepOf[0] > 0); ended[1] = (stepOf[1] > 0);
#else
		IDLE(0); IDLE(1);
#endif
		if :: untold -> untold = false; cameBack = held & UPTO(FIRST_LIFE); mark = next - 1 :: else fi;
		if :: farBack && !life -> tellLost() :: else fi }
#ifdef PRUNE
	:: atomic { (ledger[0] | ledger[1]) -> any(ledger[0] | ledger[1]);
		old = old | BIT(i); ledger[0] = ledger[0] & ~BIT(i); ledger[1] = ledger[1] & ~BIT(i); i = 0 }
#endif
	/* A closed number is kept until the sender's floor has passed it. */
#if defined(CLOSED_FORGOTTEN)
	:: atomic { closed -> any(closed); closed = closed & ~BIT(i); i = 0 }
#elif RESTORES
	:: atomic { (closed & ~held) -> any(closed & ~held); closed = closed & ~BIT(i); i = 0 }
#endif
	od
}

/* ====================================================================================================== the sender */

/* A message becomes ready, in the commit that gives the number. */
inline give(newId, generation) {
	if :: reopened -> epoch++; reopened = false :: else fi;
	epochOf[next] = epoch; idOf[next] = newId;
	if :: generation -> second = second | BIT(next) :: else -> second = second & ~BIT(next) fi;
	held = held | BIT(next); next++
}

inline leave(n) { held = held & ~BIT(n); closing = closing & ~BIT(n); cameBack = cameBack & ~BIT(n) }

/* Settled as delivered. Until the first Welcome of a restored receiver an answer may still tell of what the rollback
 * took away: that one is named by tellLost. */
inline settle(n) {
	assert(HAS(enqueued[GENERATION(n)], idOf[n]) || !inForce && farBack || lost);
#ifdef FAR_RESTORE
	if :: n > delivered -> delivered = n :: else fi;
#endif
	leave(n)
}

/* A dead letter with the reason in-doubt, which says: perhaps delivered. */
inline park(n) {
	if :: !GENERATION(n) -> dead = dead | BIT(idOf[n]) :: else fi;
	leave(n)
}

/* A dead letter with any other reason, which says: not delivered, and never will be. */
inline bury(n) {
	assert(!HAS(enqueued[GENERATION(n)], idOf[n]) || both);
	died[GENERATION(n)] = died[GENERATION(n)] | BIT(idOf[n]);
	park(n)
}

inline renumber(n) { assert(next <= NUMBERS); give(idOf[n], GENERATION(n)); leave(n) }

active proctype sender() {
	byte n, prev, f;
end:
	do
	/* Ship, or ship again, anything in doubt that is not on the way as it now reads; what prev says is true now. */
	:: atomic { inForce && (held & UPTO(mark)) ->
		n = 1;
		do
		:: n > mark -> break
		:: n <= mark && !HAS(held, n) -> n++
		:: n <= mark && HAS(held, n) ->
			prev = n - 1; do :: prev && !HAS(held, prev) -> prev-- :: else -> break od;
#ifdef PREV_OF_STREAM
			if :: prev && epochOf[prev] != epochOf[n] -> prev = 0 :: else fi;
#endif
#ifdef KEPT_PREV
			if :: keptPrev[n] -> prev = keptPrev[n] - 1 :: else -> keptPrev[n] = prev + 1 fi;
#endif
			f = FRAME((HAS(closing, n) -> 1 : 0), prev);
			if :: frame[n] != f -> break :: else -> n++ fi
		od;
		if
		:: n <= mark -> frame[n] = f; shipped = shipped | BIT(n);
#ifdef YOUNG_BY_SENDER
			if :: HAS(old, idOf[n]) -> youngThen = youngThen & ~BIT(n) :: else -> youngThen = youngThen | BIT(n) fi;
#endif
#ifdef SETTLE_AS_SHIPPED
			settle(n)
#endif
		:: else
		fi;
		n = 0; prev = 0; f = 0 }
	/* The mark is durable before a frame with such a number leaves. */
	:: atomic { mark + 1 < next -> mark = next - 1 }
	od
}

/* Whether what is below or closed was certainly never admitted: it is young, so a row would still be there. Only the
 * receiver can say so, in the transaction that looked. */
#if defined(YOUNG_BY_SENDER)
#define NEVER_ADMITTED HAS(youngThen, i)
#elif defined(CLOSED_IS_SURE)
#define NEVER_ADMITTED (v < NOT_YOUNG || v == CLOSED + NOT_YOUNG)
#else
#define NEVER_ADMITTED (v < NOT_YOUNG)
#endif

active proctype settler() {
	byte i, v;
end:
	do
	:: atomic { answered ->
		any(answered); v = answer[i]; answer[i] = 0; answered = answered & ~BIT(i);
		if
		:: !HAS(held, i) -> skip                                            /* it was settled before */
		:: HAS(held, i) && v == REFUSED -> closing = closing | BIT(i)
#ifdef EXPIRY_WINS
		:: HAS(held, i) && v == DELIVERED && HAS(closing, i) -> bury(i)
#endif
		:: HAS(held, i) && v == DELIVERED -> settle(i)
		:: HAS(held, i) && v != REFUSED && v != DELIVERED ->
			/* What came back, or is marked again, may have been decided in the lost life, under this number or another. */
			if
			:: HAS(cameBack | again, i) && NEVER_ADMITTED && (HAS(closing, i) || HAS(again, i)) -> bury(i)
			:: HAS(cameBack, i) && NEVER_ADMITTED && !HAS(closing, i) -> renumber(i)
			:: HAS(cameBack | again, i) && !(NEVER_ADMITTED) -> park(i)
			:: !HAS(cameBack | again, i) && (v & 7) == BELOW -> settle(i)
			:: !HAS(cameBack | again, i) && (v & 7) == CLOSED -> bury(i)
			fi
		fi;
		i = 0; v = 0 }
	od
}

/* The spool is opened: a new epoch, hence a new stream with the next number. What was in memory is gone. */
inline reopen() { closing = 0; youngThen = 0; reopened = true; inForce = false; dropFrames(); dropAnswers() }

#ifdef SAME_GENERATION
#define REQUEUED 0
#else
#define REQUEUED 1
#endif

/* What producers, owners, operators and time do to the sender's spool. */
active proctype world() {
	byte i;
end:
	do
	:: atomic { !life && stored < MESSAGES -> stored++; give(stored, 0) }
	/* A message is to end: at once if it never left, else by a Close, which only an answer makes true. */
	:: atomic { expiries > 0 && (held & ~closing) -> expiries--;
		any(held & ~closing);
		if
#if defined(NO_CLOSE)
		:: bury(i)
#elif defined(UNTOLD_EXPIRES)
		:: i > mark -> bury(i)
#else
		:: i > mark && !(untold && i <= FIRST_LIFE) -> bury(i)
#endif
		:: else -> closing = closing | BIT(i)
		fi; i = 0 }
#if REQUEUE
	:: atomic { requeues > 0 && dead && next <= NUMBERS && (life || next <= FIRST_LIFE) -> requeues--;
		any(dead); dead = dead & ~BIT(i);
		if :: HAS(backIds, i) -> again = again | BIT(next); mark = next :: else fi;
		give(i, REQUEUED); i = 0 }
#endif
#if RESTORES
	:: atomic { life && stored < MESSAGES + MORE && next <= NUMBERS -> stored++; give(stored, 0) }
	/* The copy is taken. */
	:: atomic { !copied && !life -> copied = true;
		heldCopy = held; nextCopy = next; markCopy = mark; deadCopy = dead; diedCopy[0] = died[0]; diedCopy[1] = died[1] }
	/* The spool is put back. */
	:: atomic { copied && life < RESTORES -> life++;
		backIds = deadCopy; i = 1;
		do
		:: i > NUMBERS -> break
		:: HAS(heldCopy, i) -> backIds = backIds | BIT(idOf[i]);
#ifndef ORDER_ALWAYS
			if :: !HAS(held, i) && !HAS(enqueued[GENERATION(i)], idOf[i]) -> late = late | BIT(i) :: else fi;
#endif
			i++
		:: else -> i++
		od;
		held = heldCopy; dead = deadCopy; died[0] = diedCopy[0]; died[1] = diedCopy[1];
		requeues = REQUEUE; stored = MESSAGES;
		reopen();
#ifdef SAME_EPOCH
		next = nextCopy; reopened = false;
#else
		next = FIRST_LIFE + LATER_LIFE * (life - 1) + 1;        /* numbers that no life has given */
#endif
#if defined(UNTOLD)
		untold = true; mark = markCopy; cameBack = 0;
#elif defined(BELOW_SETTLES)
		mark = next - 1;
#else
		cameBack = held; mark = next - 1;                       /* all that it holds is in doubt */
#endif
		if
		:: life == RESTORES -> heldCopy = 0; nextCopy = 0; markCopy = 0; deadCopy = 0; diedCopy[0] = 0; diedCopy[1] = 0
		:: else
		fi }
#endif
	od
}

/* ================================================================== what goes wrong, FAULTS times; then all goes well */

inline receiverCrash() { inForce = false; dropFrames(); IDLE(0); IDLE(1) }

active proctype chaos() {
	byte i;
end:
	do
	/* A frame is lost, an answer is lost, a connection breaks with all that is on it. */
	:: atomic { faults > 0 && shipped -> faults--; any(shipped); frame[i] = 0; shipped = shipped & ~BIT(i); i = 0 }
	:: atomic { faults > 0 && answered -> faults--; any(answered); answer[i] = 0; answered = answered & ~BIT(i); i = 0 }
	:: atomic { faults > 0 && (shipped || answered) -> faults--; dropFrames(); dropAnswers() }
	/* The sender crashes. */
	:: atomic { faults > 0 -> faults--; reopen();
#ifdef MARK_IN_MEMORY
		mark = 0
#endif
		}
	/* The receiver crashes. Answers that it has sent may still arrive, until the next Welcome. */
	:: atomic { faults > 0 && inForce -> faults--; receiverCrash() }
#ifdef FAR_RESTORE
	:: atomic { !farCopied && !farBack -> farCopied = true;
		do :: i >= EPOCHS -> break :: else -> frontierCopy[i] = frontier[i]; i++ od; i = 0;
		closedCopy = closed; ledgerCopy[0] = ledger[0]; ledgerCopy[1] = ledger[1];
		enqueuedCopy[0] = enqueued[0]; enqueuedCopy[1] = enqueued[1]; highestCopy = highest }
	:: atomic { farCopied && !farBack -> farBack = true; receiverCrash();
		do :: i >= EPOCHS -> break :: else -> frontier[i] = frontierCopy[i]; frontierCopy[i] = 0; i++ od; i = 0;
		closed = closedCopy; ledger[0] = ledgerCopy[0]; ledger[1] = ledgerCopy[1];
		enqueued[0] = enqueuedCopy[0]; enqueued[1] = enqueuedCopy[1]; highest = highestCopy;
		closedCopy = 0; ledgerCopy[0] = 0; ledgerCopy[1] = 0; enqueuedCopy[0] = 0; enqueuedCopy[1] = 0; highestCopy = 0 }
#endif
	od
}

/* Nothing is stranded: once nothing goes wrong any more, all that is held finds its end. */
ltl drained { <> [] (held == 0) }
