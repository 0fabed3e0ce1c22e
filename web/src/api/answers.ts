// Made by scripts/web-types.mjs from the description of the HTTP API. Do not edit.

export interface Answers {
listSnapshot: {
turn_id: string
path: string
fs_root_hash: string
entries: {
name: string
kind: ("file" | "dir" | "symlink")
/**
 * Octal
 */
mode: string
size: number
hash: string
}[]
}
putTypeBundle: {
bundle_id: string
}
getTypeBundle: {
registry_version: number
bundle_id: string
[k: string]: unknown
}
listTypes: {
types: {
type_id: string
latest_version: number
bundle_id: string
}[]
}
getType: {
type_id: string
type_version: number
fields: {
[k: string]: {
name: string
type: string
[k: string]: unknown
}
}
[k: string]: unknown
}
listRenderers: {
renderers: {
[k: string]: {
[k: string]: unknown
}
}
}
searchContexts: {
contexts: {
context_id: string
head_turn_id: string
[k: string]: unknown
}[]
total_count: number
[k: string]: unknown
}
getProvenance: {
context_id: string
provenance: ({
[k: string]: unknown
} | null)
}
listChildren: {
context_id: string
children: {
context_id: string
head_turn_id: string
[k: string]: unknown
}[]
[k: string]: unknown
}
createCxdbContext: {
context_id: string
head_turn_id: string
head_depth: number
}
forkCxdbContext: {
context_id: string
head_turn_id: string
head_depth: number
}
appendCxdbTurn: {
context_id: string
turn_id: string
depth: number
content_hash: string
}
appendCxdbTurns: {
context_id: string
turns: {
turn_id: string
[k: string]: unknown
}[]
partial: boolean
[k: string]: unknown
}
cxdbMetrics: {
ts: string
objects: {
turns_total: number
[k: string]: unknown
}
[k: string]: unknown
}
cxdbErrors: {
errors: {
status_code: number
[k: string]: unknown
}[]
}
listContexts: {
/**
 * Items: A movable head on the tree of turns, and what people say about it
 */
items: {
id: string
head: string
headDepth: number
base: string
openTurn: string
/**
 * 2: a turn is being streamed; 4: it is a fork
 */
flags: number
createdAt: number
updatedAt: number
/**
 * Any text of 1 to 512 bytes in UTF-8
 */
name?: string
title?: string
kind?: string
labels: string[]
meta?: unknown
}[]
cursor?: string
total?: number
}
/**
 * A movable head on the tree of turns, and what people say about it
 */
createContext: {
id: string
head: string
headDepth: number
base: string
openTurn: string
/**
 * 2: a turn is being streamed; 4: it is a fork
 */
flags: number
createdAt: number
updatedAt: number
/**
 * Any text of 1 to 512 bytes in UTF-8
 */
name?: string
title?: string
kind?: string
labels: string[]
meta?: unknown
}
/**
 * A movable head on the tree of turns, and what people say about it
 */
findContext: {
id: string
head: string
headDepth: number
base: string
openTurn: string
/**
 * 2: a turn is being streamed; 4: it is a fork
 */
flags: number
createdAt: number
updatedAt: number
/**
 * Any text of 1 to 512 bytes in UTF-8
 */
name?: string
title?: string
kind?: string
labels: string[]
meta?: unknown
}
/**
 * A movable head on the tree of turns, and what people say about it
 */
getOrCreateContext: {
id: string
head: string
headDepth: number
base: string
openTurn: string
/**
 * 2: a turn is being streamed; 4: it is a fork
 */
flags: number
createdAt: number
updatedAt: number
/**
 * Any text of 1 to 512 bytes in UTF-8
 */
name?: string
title?: string
kind?: string
labels: string[]
meta?: unknown
}
/**
 * A movable head on the tree of turns, and what people say about it
 */
renameContext: {
id: string
head: string
headDepth: number
base: string
openTurn: string
/**
 * 2: a turn is being streamed; 4: it is a fork
 */
flags: number
createdAt: number
updatedAt: number
/**
 * Any text of 1 to 512 bytes in UTF-8
 */
name?: string
title?: string
kind?: string
labels: string[]
meta?: unknown
}
/**
 * A movable head on the tree of turns, and what people say about it
 */
moveHead: {
id: string
head: string
headDepth: number
base: string
openTurn: string
/**
 * 2: a turn is being streamed; 4: it is a fork
 */
flags: number
createdAt: number
updatedAt: number
/**
 * Any text of 1 to 512 bytes in UTF-8
 */
name?: string
title?: string
kind?: string
labels: string[]
meta?: unknown
}
/**
 * A movable head on the tree of turns, and what people say about it
 */
getContext: {
id: string
head: string
headDepth: number
base: string
openTurn: string
/**
 * 2: a turn is being streamed; 4: it is a fork
 */
flags: number
createdAt: number
updatedAt: number
/**
 * Any text of 1 to 512 bytes in UTF-8
 */
name?: string
title?: string
kind?: string
labels: string[]
meta?: unknown
}
/**
 * A movable head on the tree of turns, and what people say about it
 */
updateContext: {
id: string
head: string
headDepth: number
base: string
openTurn: string
/**
 * 2: a turn is being streamed; 4: it is a fork
 */
flags: number
createdAt: number
updatedAt: number
/**
 * Any text of 1 to 512 bytes in UTF-8
 */
name?: string
title?: string
kind?: string
labels: string[]
meta?: unknown
}
/**
 * A movable head on the tree of turns, and what people say about it
 */
forkTurn: {
id: string
head: string
headDepth: number
base: string
openTurn: string
/**
 * 2: a turn is being streamed; 4: it is a fork
 */
flags: number
createdAt: number
updatedAt: number
/**
 * Any text of 1 to 512 bytes in UTF-8
 */
name?: string
title?: string
kind?: string
labels: string[]
meta?: unknown
}
listTurns: {
/**
 * Items: A turn; bytes in its payload appear as {"base64": "…"}
 */
turns: {
id: string
context: string
parent: string
depth: number
type: string
version: number
encoding: (("bytes" | "msgpack" | "json" | "text" | "cbor" | "protobuf" | "flatbuffers" | "capnp" | "gob") | number)
payloadHash?: string
size: number
createdAt: number
flags: number
state: ("sealed" | "open")
outcome?: ("aborted" | "interrupted")
patched?: true
tombstone?: true
reason?: string
payload?: unknown
undecodable?: true
}[]
cursor?: string
nextDepth?: number
headDepth: number
}
appendTurns: ({
id: string
context: string
parent: string
depth: number
type: string
version: number
encoding: (("bytes" | "msgpack" | "json" | "text" | "cbor" | "protobuf" | "flatbuffers" | "capnp" | "gob") | number)
payloadHash?: string
size: number
createdAt: number
flags: number
state: ("sealed" | "open")
outcome?: ("aborted" | "interrupted")
patched?: true
tombstone?: true
reason?: string
payload?: unknown
undecodable?: true
} | {
/**
 * Items: A turn; bytes in its payload appear as {"base64": "…"}
 */
turns: {
id: string
context: string
parent: string
depth: number
type: string
version: number
encoding: (("bytes" | "msgpack" | "json" | "text" | "cbor" | "protobuf" | "flatbuffers" | "capnp" | "gob") | number)
payloadHash?: string
size: number
createdAt: number
flags: number
state: ("sealed" | "open")
outcome?: ("aborted" | "interrupted")
patched?: true
tombstone?: true
reason?: string
payload?: unknown
undecodable?: true
}[]
})
/**
 * A turn; bytes in its payload appear as {"base64": "…"}
 */
getTurn: {
id: string
context: string
parent: string
depth: number
type: string
version: number
encoding: (("bytes" | "msgpack" | "json" | "text" | "cbor" | "protobuf" | "flatbuffers" | "capnp" | "gob") | number)
payloadHash?: string
size: number
createdAt: number
flags: number
state: ("sealed" | "open")
outcome?: ("aborted" | "interrupted")
patched?: true
tombstone?: true
reason?: string
payload?: unknown
undecodable?: true
}
diffTurns: {
base?: string
left: string[]
right: string[]
}
/**
 * A turn; bytes in its payload appear as {"base64": "…"}
 */
openTurn: {
id: string
context: string
parent: string
depth: number
type: string
version: number
encoding: (("bytes" | "msgpack" | "json" | "text" | "cbor" | "protobuf" | "flatbuffers" | "capnp" | "gob") | number)
payloadHash?: string
size: number
createdAt: number
flags: number
state: ("sealed" | "open")
outcome?: ("aborted" | "interrupted")
patched?: true
tombstone?: true
reason?: string
payload?: unknown
undecodable?: true
}
writeDelta: {
size: number
}
/**
 * A turn; bytes in its payload appear as {"base64": "…"}
 */
sealTurn: {
id: string
context: string
parent: string
depth: number
type: string
version: number
encoding: (("bytes" | "msgpack" | "json" | "text" | "cbor" | "protobuf" | "flatbuffers" | "capnp" | "gob") | number)
payloadHash?: string
size: number
createdAt: number
flags: number
state: ("sealed" | "open")
outcome?: ("aborted" | "interrupted")
patched?: true
tombstone?: true
reason?: string
payload?: unknown
undecodable?: true
}
listPatches: {
patches: {
seq: number
turn: string
tombstone: boolean
encoding: (("bytes" | "msgpack" | "json" | "text" | "cbor" | "protobuf" | "flatbuffers" | "capnp" | "gob") | number)
payloadHash: string
size: number
createdAt: number
}[]
}
patchTurn: {
seq: number
turn: string
tombstone: boolean
encoding: (("bytes" | "msgpack" | "json" | "text" | "cbor" | "protobuf" | "flatbuffers" | "capnp" | "gob") | number)
payloadHash: string
size: number
createdAt: number
}
tombstoneTurn: {
seq: number
turn: string
tombstone: boolean
encoding: (("bytes" | "msgpack" | "json" | "text" | "cbor" | "protobuf" | "flatbuffers" | "capnp" | "gob") | number)
payloadHash: string
size: number
createdAt: number
}
eraseTurn: {
turn: string
erased: boolean
blobs: {
hash: string
erased: boolean
usedBy: string[]
neededBy: {
kind: string
id: string
}[]
}[]
}
eraseBlob: {
hash: string
erased: boolean
usedBy: string[]
neededBy: {
kind: string
id: string
}[]
}
listPins: {
pins: {
turn: string
reason?: string
}[]
}
listBundles: {
items: {
name: string
description?: string
hash: string
versions: {
hash: string
since: number
}[]
}[]
}
listThreads: {
/**
 * Items: A chain of steps: `head` is the newest, or the start while there is none
 */
items: {
/**
 * The id of a thread
 */
id: string
bundle: string
state: ("active" | "paused" | "completed")
head: string
start: string
updatedAt: number
name?: string
prompt?: string
outcome?: ("completed" | "failed" | "killed")
returnCode?: number
summary?: string
}[]
cursor?: string
}
/**
 * A chain of steps: `head` is the newest, or the start while there is none
 */
startThread: {
/**
 * The id of a thread
 */
id: string
bundle: string
state: ("active" | "paused" | "completed")
head: string
start: string
updatedAt: number
name?: string
prompt?: string
outcome?: ("completed" | "failed" | "killed")
returnCode?: number
summary?: string
}
/**
 * A chain of steps: `head` is the newest, or the start while there is none
 */
getThread: {
/**
 * The id of a thread
 */
id: string
bundle: string
state: ("active" | "paused" | "completed")
head: string
start: string
updatedAt: number
name?: string
prompt?: string
outcome?: ("completed" | "failed" | "killed")
returnCode?: number
summary?: string
}
listSteps: {
steps: {
hash: string
parent: (string | null)
role: string
meta: {
[k: string]: unknown
}
timestamp: number
content?: string
refs?: string[]
compact?: string
/**
 * The id of a thread
 */
childThread?: string
}[]
cursor?: string
}
appendStep: {
hash: string
parent: (string | null)
role: string
meta: {
[k: string]: unknown
}
timestamp: number
content?: string
refs?: string[]
compact?: string
/**
 * The id of a thread
 */
childThread?: string
}
listThreadInfo: {
lines: {
[k: string]: unknown
}[]
}
getThreadContext: {
/**
 * A chain of steps: `head` is the newest, or the start while there is none
 */
thread: {
/**
 * The id of a thread
 */
id: string
bundle: string
state: ("active" | "paused" | "completed")
head: string
start: string
updatedAt: number
name?: string
prompt?: string
outcome?: ("completed" | "failed" | "killed")
returnCode?: number
summary?: string
}
start: {
name: string
bundle: string
prompt: string
maxRounds: number
depth: number
parentState?: string
}
summary?: string
steps: {
hash: string
parent: (string | null)
role: string
meta: {
[k: string]: unknown
}
timestamp: number
content?: string
refs?: string[]
compact?: string
/**
 * The id of a thread
 */
childThread?: string
}[]
}
endThread: {
hash: string
parent: (string | null)
role: string
meta: {
[k: string]: unknown
}
timestamp: number
content?: string
refs?: string[]
compact?: string
/**
 * The id of a thread
 */
childThread?: string
}
/**
 * A chain of steps: `head` is the newest, or the start while there is none
 */
forkThread: {
/**
 * The id of a thread
 */
id: string
bundle: string
state: ("active" | "paused" | "completed")
head: string
start: string
updatedAt: number
name?: string
prompt?: string
outcome?: ("completed" | "failed" | "killed")
returnCode?: number
summary?: string
}
compactThread: {
hash: string
parent: (string | null)
role: string
meta: {
[k: string]: unknown
}
timestamp: number
content?: string
refs?: string[]
compact?: string
/**
 * The id of a thread
 */
childThread?: string
}
/**
 * A chain of steps: `head` is the newest, or the start while there is none
 */
pauseThread: {
/**
 * The id of a thread
 */
id: string
bundle: string
state: ("active" | "paused" | "completed")
head: string
start: string
updatedAt: number
name?: string
prompt?: string
outcome?: ("completed" | "failed" | "killed")
returnCode?: number
summary?: string
}
killThread: {
hash: string
parent: (string | null)
role: string
meta: {
[k: string]: unknown
}
timestamp: number
content?: string
refs?: string[]
compact?: string
/**
 * The id of a thread
 */
childThread?: string
}
listChats: {
items: {
id: string
title: string
/**
 * ISO 8601, UTC
 */
createdAt: string
/**
 * ISO 8601, UTC
 */
updatedAt: string
pinned: boolean
/**
 * ISO 8601, UTC
 */
archivedAt?: string
events: number
bytes: number
}[]
cursor?: string
}
createChat: {
id: string
title: string
/**
 * ISO 8601, UTC
 */
createdAt: string
/**
 * ISO 8601, UTC
 */
updatedAt: string
pinned: boolean
/**
 * ISO 8601, UTC
 */
archivedAt?: string
events: number
bytes: number
}
listChatTypes: {
types: {
type: string
about: string
/**
 * ISO 8601, UTC
 */
since: string
}[]
}
registerChatType: {
type: string
about: string
/**
 * ISO 8601, UTC
 */
since: string
}
importChat: {
id: string
title: string
/**
 * ISO 8601, UTC
 */
createdAt: string
/**
 * ISO 8601, UTC
 */
updatedAt: string
pinned: boolean
/**
 * ISO 8601, UTC
 */
archivedAt?: string
events: number
bytes: number
}
retainChats: {
chats: {
id: string
title: string
/**
 * ISO 8601, UTC
 */
createdAt: string
/**
 * ISO 8601, UTC
 */
updatedAt: string
pinned: boolean
/**
 * ISO 8601, UTC
 */
archivedAt?: string
events: number
bytes: number
}[]
[k: string]: unknown
}
getChat: {
id: string
title: string
/**
 * ISO 8601, UTC
 */
createdAt: string
/**
 * ISO 8601, UTC
 */
updatedAt: string
pinned: boolean
/**
 * ISO 8601, UTC
 */
archivedAt?: string
events: number
bytes: number
messages: number
usage: {
[k: string]: unknown
}
clarification: {
[k: string]: unknown
}
branches: {
[k: string]: unknown
}[]
problems: number
}
updateChat: {
id: string
title: string
/**
 * ISO 8601, UTC
 */
createdAt: string
/**
 * ISO 8601, UTC
 */
updatedAt: string
pinned: boolean
/**
 * ISO 8601, UTC
 */
archivedAt?: string
events: number
bytes: number
}
chatProblems: {
problems: {
seq: number
kind: string
message: string
type?: string
}[]
}
archiveChat: {
id: string
title: string
/**
 * ISO 8601, UTC
 */
createdAt: string
/**
 * ISO 8601, UTC
 */
updatedAt: string
pinned: boolean
/**
 * ISO 8601, UTC
 */
archivedAt?: string
events: number
bytes: number
}
unarchiveChat: {
id: string
title: string
/**
 * ISO 8601, UTC
 */
createdAt: string
/**
 * ISO 8601, UTC
 */
updatedAt: string
pinned: boolean
/**
 * ISO 8601, UTC
 */
archivedAt?: string
events: number
bytes: number
}
listMessages: {
messages: {
id: string
seq: number
at: string
role: string
branch: string
content: string
state: ("complete" | "streaming")
interrupted?: true
edits: number
redacted?: {
reason: string
erased: boolean
}
attachments: {
id: string
hash: string
[k: string]: unknown
}[]
missing?: true
damaged?: string
}[]
damage?: {
seq: number
kind: string
message: string
type?: string
}[]
before?: number
}
addMessage: {
id: string
seq: number
at: string
role: string
branch: string
content: string
state: ("complete" | "streaming")
interrupted?: true
edits: number
redacted?: {
reason: string
erased: boolean
}
attachments: {
id: string
hash: string
[k: string]: unknown
}[]
missing?: true
damaged?: string
}
getMessage: {
id: string
seq: number
at: string
role: string
branch: string
content: string
state: ("complete" | "streaming")
interrupted?: true
edits: number
redacted?: {
reason: string
erased: boolean
}
attachments: {
id: string
hash: string
[k: string]: unknown
}[]
missing?: true
damaged?: string
}
/**
 * An event as it stands in the log
 */
editMessage: {
schema_version: number
seq: number
event_id: string
/**
 * ISO 8601, UTC
 */
at: string
type: string
payload: {
[k: string]: unknown
}
}
/**
 * An event as it stands in the log
 */
completeMessage: {
schema_version: number
seq: number
event_id: string
/**
 * ISO 8601, UTC
 */
at: string
type: string
payload: {
[k: string]: unknown
}
}
forkChat: {
branch: string
}
searchChat: {
messages: {
id: string
seq: number
at: string
role: string
branch: string
content: string
state: ("complete" | "streaming")
interrupted?: true
edits: number
redacted?: {
reason: string
erased: boolean
}
attachments: {
id: string
hash: string
[k: string]: unknown
}[]
missing?: true
damaged?: string
}[]
before?: number
}
attachFile: {
id: string
hash: string
[k: string]: unknown
}
readChatLog: {
/**
 * Items: An event as it stands in the log
 */
events: {
schema_version: number
seq: number
event_id: string
/**
 * ISO 8601, UTC
 */
at: string
type: string
payload: {
[k: string]: unknown
}
}[]
problems: {
seq: number
kind: string
message: string
type?: string
}[]
next?: number
}
appendChatEvents: {
/**
 * Items: An event as it stands in the log
 */
events: {
schema_version: number
seq: number
event_id: string
/**
 * ISO 8601, UTC
 */
at: string
type: string
payload: {
[k: string]: unknown
}
}[]
}
listQuestions: {
batches: {
batch_id: string
seq: number
at: string
title?: string
questions: {
id: string
text: string
kind: string
[k: string]: unknown
}[]
state: ("open" | "answered" | "dismissed" | "replaced")
closedAt?: string
reason?: string
redacted?: true
}[]
before?: number
}
askQuestions: {
batch: string
}
/**
 * An event as it stands in the log
 */
answerQuestions: {
schema_version: number
seq: number
event_id: string
/**
 * ISO 8601, UTC
 */
at: string
type: string
payload: {
[k: string]: unknown
}
}
/**
 * An event as it stands in the log
 */
dismissQuestions: {
schema_version: number
seq: number
event_id: string
/**
 * ISO 8601, UTC
 */
at: string
type: string
payload: {
[k: string]: unknown
}
}
redactMessage: {
erasedLines: number
kept: string[]
[k: string]: unknown
}
redactQuestions: {
erasedLines: number
kept: string[]
[k: string]: unknown
}
listBlobs: {
items: string[]
cursor?: string
}
putBlob: {
hash: string
sha256?: string
size: number
storedSize: number
existed: boolean
}
listQueues: {
queues: {
name: string
event_count: number
last_event_id: number
subscriptions: number
}[]
}
queueInfo: {
thread: string
event_count: number
last_event_id: number
subscriptions: {
consumer_id: string
handler_cmd: string
filter: (string | null)
}[]
progress: {
consumer_id: string
last_acked_id: number
updated_at: (string | null)
lag: (number | null)
state: ("idle" | "running" | "failed")
handler?: {
pid: number
since: string
}
failures: number
last_error: (string | null)
}[]
}
peekQueue: {
/**
 * Items: An event of a queue
 */
events: {
id: number
created_at: string
source: string
type: string
subtype: (string | null)
content: string
}[]
}
pushEvents: ({
id: number
} | {
ids: number[]
})
subscribeConsumer: {
consumer_id: string
handler_cmd: string
filter: (string | null)
}
popEvents: {
/**
 * Items: An event of a queue
 */
events: {
id: number
created_at: string
source: string
type: string
subtype: (string | null)
content: string
}[]
}
dispatchQueue: {
started: string[]
skipped: {
consumer: string
reason: string
}[]
}
listSessions: {
items: {
id: string
file: string
available: boolean
[k: string]: unknown
}[]
cursor?: string
}
createSession: {
id: string
file: string
available: boolean
[k: string]: unknown
}
getSession: {
id: string
file: string
available: boolean
[k: string]: unknown
}
readEntries: {
entries: {
type: string
[k: string]: unknown
}[]
cursor?: number
[k: string]: unknown
}
appendEntries: {
ids: string[]
}
forkSession: {
id: string
artifactsCopied: boolean
[k: string]: unknown
}
readResource: {
url: string
contentType: string
content: string
[k: string]: unknown
}
saveArtifact: {
id: string
url: string
}
search: {
hits: {
kind: ("context" | "workflow" | "chat" | "session" | "artifact" | "queue")
thread: string
id: string
depth: number
at: number
type: string
role?: string
model?: string
tools?: string[]
score: number
snippet: {
text: string
/**
 * Begin and end of each word
 */
marks: number[][]
}
/**
 * Every thread that shows it
 */
branches: string[]
moreBranches?: boolean
around?: {
id: string
at: number
type: string
role?: string
text: string
}[]
}[]
groups?: {
kind: ("context" | "workflow" | "chat" | "session" | "artifact" | "queue")
thread: string
/**
 * The title of the thread
 */
title?: string
matches: number
hits: {
kind: ("context" | "workflow" | "chat" | "session" | "artifact" | "queue")
thread: string
id: string
depth: number
at: number
type: string
role?: string
model?: string
tools?: string[]
score: number
snippet: {
text: string
/**
 * Begin and end of each word
 */
marks: number[][]
}
/**
 * Every thread that shows it
 */
branches: string[]
moreBranches?: boolean
around?: {
id: string
at: number
type: string
role?: string
text: string
}[]
}[]
}[]
facets?: {
kind: {
value: string
count: number
}[]
type: {
value: string
count: number
}[]
model: {
value: string
count: number
}[]
day: {
value: string
count: number
}[]
}
cursor?: string
matches: number
ranked: ("all" | "newest" | "time")
index: {
upToDate: boolean
documents: number
done?: number
total?: number
}
}
getStats: {
engine: string
durability: ("safe" | "unsafe")
turns: number
contexts: number
patches: number
blobs: number
logs: number
docs: number
/**
 * Raw bytes of all distinct blobs
 */
blobBytes: number
/**
 * What they take on disk
 */
storedBytes: number
/**
 * Payload bytes of all turns, each counted as often as it is used
 */
logicalBytes: number
/**
 * Everything that the store takes on disk
 */
diskBytes: number
/**
 * Its parts, largest first
 */
disk: {
part: string
bytes: number
}[]
sharingRatio: number
compressionRatio: number
journal?: {
frames: number
broken: boolean
}
/**
 * Absent when none was made
 */
lastBackup?: {
at: number
}
damage: {
file: string
offset: number
what: string
}[]
}
collectGarbage: {
[k: string]: unknown
}
verifyStore: {
[k: string]: unknown
}
backupStore: {
[k: string]: unknown
}
retainContexts: {
[k: string]: unknown
}
checkpoint: {
[k: string]: unknown
}
reindex: {
[k: string]: unknown
}
whoAmI: {
name: string
scope: ("read" | "write" | "admin")
/**
 * The name of the store for people
 */
store: string
/**
 * The same for every server of this store
 */
storeId: string
}
listAll: {
items: {
kind: ("context" | "chat" | "workflow" | "session" | "queue")
id: string
title: string
updatedAt: number
detail?: string
/**
 * Turns, events, steps or entries
 */
turns?: number
labels?: string[]
state?: string
/**
 * Something is being written
 */
live?: true
}[]
cursor?: string
}
getTree: {
branches: {
context: string
head: string
headDepth: number
base: string
openTurn: string
updatedAt: number
title?: string
name?: string
}[]
nodes: {
turn: string
depth: number
/**
 * The next node on the way to the root
 */
parent?: string
/**
 * The context that the turn was appended to
 */
context: string
type: string
createdAt: number
}[]
/**
 * Turns of all branches together
 */
turns: number
/**
 * Only the 1000 newest branches are here
 */
more: boolean
/**
 * The server still reads contexts: ask again for branches that are missing
 */
reading?: true
}
getActivity: {
days: {
day: string
turns: number
}[]
}
offerCode: {
code: string
expiresAt: number
}
signIn: {
token: string
}
health: {
status: ("ok" | "stopping" | "failing")
version: string
}
ready: {
status: ("ok" | "stopping" | "failing")
version: string
}
live: {
status: ("ok" | "stopping" | "failing")
version: string
}
openApi: {
openapi: string
[k: string]: unknown
}
}

export const OPERATIONS = {
  listSnapshot: ['GET', '/v1/turns/{id}/fs'],
  readSnapshot: ['GET', '/v1/turns/{id}/fs/{path}'],
  putTypeBundle: ['PUT', '/v1/registry/bundles/{bundle}'],
  getTypeBundle: ['GET', '/v1/registry/bundles/{bundle}'],
  listTypes: ['GET', '/v1/registry/types'],
  getType: ['GET', '/v1/registry/types/{type}/versions/{version}'],
  listRenderers: ['GET', '/v1/registry/renderers'],
  searchContexts: ['GET', '/v1/contexts/search'],
  getProvenance: ['GET', '/v1/contexts/{id}/provenance'],
  listChildren: ['GET', '/v1/contexts/{id}/children'],
  createCxdbContext: ['POST', '/v1/contexts/create'],
  forkCxdbContext: ['POST', '/v1/contexts/fork'],
  appendCxdbTurn: ['POST', '/v1/contexts/{id}/append'],
  appendCxdbTurns: ['POST', '/v1/contexts/{id}/append-batch'],
  cxdbMetrics: ['GET', '/v1/metrics'],
  cxdbErrors: ['GET', '/v1/errors'],
  listContexts: ['GET', '/v1/contexts'],
  createContext: ['POST', '/v1/contexts'],
  findContext: ['GET', '/v1/contexts/by-name'],
  getOrCreateContext: ['PUT', '/v1/contexts/by-name'],
  renameContext: ['PUT', '/v1/contexts/{id}/name'],
  moveHead: ['PUT', '/v1/contexts/{id}/head'],
  getContext: ['GET', '/v1/contexts/{id}'],
  updateContext: ['PATCH', '/v1/contexts/{id}'],
  removeContext: ['DELETE', '/v1/contexts/{id}'],
  forkTurn: ['POST', '/v1/turns/{id}/fork'],
  listTurns: ['GET', '/v1/contexts/{id}/turns'],
  appendTurns: ['POST', '/v1/contexts/{id}/turns'],
  getTurn: ['GET', '/v1/turns/{id}'],
  getChain: ['GET', '/v1/turns/{id}/chain'],
  diffTurns: ['GET', '/v1/turns/{id}/diff/{other}'],
  openTurn: ['POST', '/v1/contexts/{id}/open'],
  writeDelta: ['POST', '/v1/turns/{id}/delta'],
  sealTurn: ['POST', '/v1/turns/{id}/seal'],
  followOpenTurn: ['GET', '/v1/turns/{id}/events'],
  createStream: ['PUT', '/v1/streams/{name}'],
  appendToStream: ['POST', '/v1/streams/{name}'],
  readStream: ['GET', '/v1/streams/{name}'],
  removeStream: ['DELETE', '/v1/streams/{name}'],
  listPatches: ['GET', '/v1/turns/{id}/patches'],
  patchTurn: ['POST', '/v1/turns/{id}/patches'],
  tombstoneTurn: ['POST', '/v1/turns/{id}/tombstone'],
  eraseTurn: ['POST', '/v1/turns/{id}/erase'],
  eraseBlob: ['POST', '/v1/blobs/{ref}/erase'],
  listPins: ['GET', '/v1/pins'],
  pinTurn: ['PUT', '/v1/turns/{id}/pin'],
  unpinTurn: ['DELETE', '/v1/turns/{id}/pin'],
  listBundles: ['GET', '/v1/workflows/bundles'],
  listThreads: ['GET', '/v1/workflows/threads'],
  startThread: ['POST', '/v1/workflows/threads'],
  getThread: ['GET', '/v1/workflows/threads/{id}'],
  removeThread: ['DELETE', '/v1/workflows/threads/{id}'],
  listSteps: ['GET', '/v1/workflows/threads/{id}/steps'],
  appendStep: ['POST', '/v1/workflows/threads/{id}/steps'],
  listThreadInfo: ['GET', '/v1/workflows/threads/{id}/info'],
  getThreadContext: ['GET', '/v1/workflows/threads/{id}/context'],
  endThread: ['POST', '/v1/workflows/threads/{id}/end'],
  forkThread: ['POST', '/v1/workflows/threads/{id}/fork'],
  compactThread: ['POST', '/v1/workflows/threads/{id}/compact'],
  pauseThread: ['POST', '/v1/workflows/threads/{id}/pause'],
  killThread: ['POST', '/v1/workflows/threads/{id}/kill'],
  followThread: ['GET', '/v1/workflows/threads/{id}/events'],
  watchThreads: ['GET', '/v1/workflows/bundles/{hash}/events'],
  listChats: ['GET', '/v1/chats'],
  createChat: ['POST', '/v1/chats'],
  listChatTypes: ['GET', '/v1/chat-types'],
  registerChatType: ['PUT', '/v1/chat-types/{type}'],
  forgetChatType: ['DELETE', '/v1/chat-types/{type}'],
  importChat: ['POST', '/v1/chats/import'],
  retainChats: ['POST', '/v1/chats/retain'],
  getChat: ['GET', '/v1/chats/{id}'],
  updateChat: ['PATCH', '/v1/chats/{id}'],
  removeChat: ['DELETE', '/v1/chats/{id}'],
  chatProblems: ['GET', '/v1/chats/{id}/problems'],
  exportChat: ['GET', '/v1/chats/{id}/export'],
  archiveChat: ['POST', '/v1/chats/{id}/archive'],
  unarchiveChat: ['POST', '/v1/chats/{id}/unarchive'],
  listMessages: ['GET', '/v1/chats/{id}/messages'],
  addMessage: ['POST', '/v1/chats/{id}/messages'],
  getMessage: ['GET', '/v1/chats/{id}/messages/{message}'],
  editMessage: ['PUT', '/v1/chats/{id}/messages/{message}'],
  completeMessage: ['POST', '/v1/chats/{id}/messages/{message}/complete'],
  forkChat: ['POST', '/v1/chats/{id}/messages/{message}/fork'],
  searchChat: ['GET', '/v1/chats/{id}/search'],
  attachFile: ['PUT', '/v1/chats/{id}/attachments'],
  readChatLog: ['GET', '/v1/chats/{id}/log'],
  appendChatEvents: ['POST', '/v1/chats/{id}/log'],
  followChat: ['GET', '/v1/chats/{id}/events'],
  listQuestions: ['GET', '/v1/chats/{id}/clarifications'],
  askQuestions: ['POST', '/v1/chats/{id}/clarifications'],
  answerQuestions: ['POST', '/v1/chats/{id}/clarifications/{batch}/answer'],
  dismissQuestions: ['POST', '/v1/chats/{id}/clarifications/{batch}/dismiss'],
  redactMessage: ['POST', '/v1/chats/{id}/messages/{message}/redact'],
  redactQuestions: ['POST', '/v1/chats/{id}/clarifications/{batch}/redact'],
  listBlobs: ['GET', '/v1/blobs'],
  putBlob: ['PUT', '/v1/blobs'],
  getBlob: ['GET', '/v1/blobs/{ref}'],
  listQueues: ['GET', '/v1/queues'],
  createQueue: ['PUT', '/v1/queues/{name}'],
  queueInfo: ['GET', '/v1/queues/{name}'],
  peekQueue: ['GET', '/v1/queues/{name}/events'],
  pushEvents: ['POST', '/v1/queues/{name}/events'],
  followQueue: ['GET', '/v1/queues/{name}/follow'],
  subscribeConsumer: ['PUT', '/v1/queues/{name}/consumers/{consumer}'],
  unsubscribeConsumer: ['DELETE', '/v1/queues/{name}/consumers/{consumer}'],
  popEvents: ['POST', '/v1/queues/{name}/consumers/{consumer}/pop'],
  dispatchQueue: ['POST', '/v1/queues/{name}/dispatch'],
  listSessions: ['GET', '/v1/sessions'],
  createSession: ['POST', '/v1/sessions'],
  getSession: ['GET', '/v1/sessions/{id}'],
  removeSession: ['DELETE', '/v1/sessions/{id}'],
  readEntries: ['GET', '/v1/sessions/{id}/entries'],
  appendEntries: ['POST', '/v1/sessions/{id}/entries'],
  forkSession: ['POST', '/v1/sessions/{id}/fork'],
  readResource: ['GET', '/v1/sessions/{id}/resource'],
  saveArtifact: ['POST', '/v1/sessions/{id}/artifacts'],
  watchStore: ['GET', '/v1/events'],
  followContext: ['GET', '/v1/contexts/{id}/events'],
  search: ['GET', '/v1/search'],
  getStats: ['GET', '/v1/stats'],
  collectGarbage: ['POST', '/v1/maintain/gc'],
  verifyStore: ['POST', '/v1/maintain/verify'],
  backupStore: ['POST', '/v1/maintain/backup'],
  retainContexts: ['POST', '/v1/maintain/retain'],
  checkpoint: ['POST', '/v1/maintain/checkpoint'],
  reindex: ['POST', '/v1/maintain/reindex'],
  whoAmI: ['GET', '/v1/me'],
  listAll: ['GET', '/v1/threads'],
  getTree: ['GET', '/v1/contexts/{id}/tree'],
  getActivity: ['GET', '/v1/activity'],
  offerCode: ['POST', '/v1/sign-in/code'],
  signIn: ['POST', '/v1/sign-in'],
  call: ['POST', '/v1/call/{method}'],
  health: ['GET', '/healthz'],
  ready: ['GET', '/healthz/ready'],
  live: ['GET', '/healthz/live'],
  metrics: ['GET', '/metrics'],
  openApi: ['GET', '/openapi.json'],
} as const satisfies Readonly<Record<string, readonly [method: string, path: string]>>;
