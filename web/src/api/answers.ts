// Made by scripts/web-types.mjs from the description of the HTTP API. Do not edit.

export interface Answers {
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
updateContext: Answers['getContext']
/**
 * A movable head on the tree of turns, and what people say about it
 */
forkTurn: Answers['getContext']
listTurns: {
/**
 * Items: A turn; bytes in its payload appear as {"base64": "…"}
 */
turns: Answers['getTurn'][]
cursor?: string
nextDepth?: number
headDepth: number
}
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
tombstoneTurn: {
seq: number
turn: string
tombstone: boolean
encoding: (("bytes" | "msgpack" | "json" | "text" | "cbor" | "protobuf" | "flatbuffers" | "capnp" | "gob") | number)
payloadHash: string
size: number
createdAt: number
}
listPins: {
pins: {
turn: string
reason?: string
}[]
}
listThreads: {
/**
 * Items: A chain of steps: `head` is the newest, or the start while there is none
 */
items: Answers['getThread'][]
cursor?: string
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
getThreadContext: {
/**
 * A chain of steps: `head` is the newest, or the start while there is none
 */
thread: Answers['getThread']
start: {
name: string
bundle: string
prompt: string
maxRounds: number
depth: number
parentState?: string
}
summary?: string
steps: Answers['listSteps']['steps'][number][]
}
/**
 * A chain of steps: `head` is the newest, or the start while there is none
 */
forkThread: Answers['getThread']
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
forkChat: {
branch: string
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
hits: Answers['search']['hits'][number][]
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
verifyStore: {
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
signIn: {
token: string
}
health: {
status: ("ok" | "stopping" | "failing")
version: string
}
live: {
status: ("ok" | "stopping" | "failing")
version: string
}
}

export const OPERATIONS = {
  getContext: ['GET', '/v1/contexts/{id}'],
  updateContext: ['PATCH', '/v1/contexts/{id}'],
  forkTurn: ['POST', '/v1/turns/{id}/fork'],
  listTurns: ['GET', '/v1/contexts/{id}/turns'],
  getTurn: ['GET', '/v1/turns/{id}'],
  diffTurns: ['GET', '/v1/turns/{id}/diff/{other}'],
  followOpenTurn: ['GET', '/v1/turns/{id}/events'],
  tombstoneTurn: ['POST', '/v1/turns/{id}/tombstone'],
  listPins: ['GET', '/v1/pins'],
  pinTurn: ['PUT', '/v1/turns/{id}/pin'],
  unpinTurn: ['DELETE', '/v1/turns/{id}/pin'],
  listThreads: ['GET', '/v1/workflows/threads'],
  getThread: ['GET', '/v1/workflows/threads/{id}'],
  listSteps: ['GET', '/v1/workflows/threads/{id}/steps'],
  getThreadContext: ['GET', '/v1/workflows/threads/{id}/context'],
  forkThread: ['POST', '/v1/workflows/threads/{id}/fork'],
  followThread: ['GET', '/v1/workflows/threads/{id}/events'],
  getChat: ['GET', '/v1/chats/{id}'],
  listMessages: ['GET', '/v1/chats/{id}/messages'],
  forkChat: ['POST', '/v1/chats/{id}/messages/{message}/fork'],
  followChat: ['GET', '/v1/chats/{id}/events'],
  getBlob: ['GET', '/v1/blobs/{ref}'],
  queueInfo: ['GET', '/v1/queues/{name}'],
  followQueue: ['GET', '/v1/queues/{name}/follow'],
  getSession: ['GET', '/v1/sessions/{id}'],
  readEntries: ['GET', '/v1/sessions/{id}/entries'],
  watchStore: ['GET', '/v1/events'],
  followContext: ['GET', '/v1/contexts/{id}/events'],
  search: ['GET', '/v1/search'],
  getStats: ['GET', '/v1/stats'],
  verifyStore: ['POST', '/v1/maintain/verify'],
  whoAmI: ['GET', '/v1/me'],
  listAll: ['GET', '/v1/threads'],
  getTree: ['GET', '/v1/contexts/{id}/tree'],
  getActivity: ['GET', '/v1/activity'],
  signIn: ['POST', '/v1/sign-in'],
  call: ['POST', '/v1/call/{method}'],
  health: ['GET', '/healthz'],
  live: ['GET', '/healthz/live'],
  metrics: ['GET', '/metrics'],
} as const satisfies Readonly<Record<string, readonly [method: string, path: string]>>;
