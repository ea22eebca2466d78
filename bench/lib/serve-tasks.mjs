// serve-tasks.mjs: sixty tasks over real servers that work without their services: a wish in words, the tools that can do it, the
// arguments, and what the result must contain. Later tasks use what earlier ones made, so they run in order, each time in a new place.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** The files that the tasks start with. `home` is the user's folder: git wants to know who commits. */
export function prepareTasks(work, home) {
  mkdirSync(join(work, 'repo'), { recursive: true })
  writeFileSync(join(work, 'hello.txt'), 'hello\n')
  writeFileSync(join(work, 'dot.png'), Buffer.from(PNG, 'base64'))
  writeFileSync(join(work, 'repo', 'a.txt'), 'one\ntwo\n')
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.com\n')
}

export function serveTasks(work) {
  const at = (...parts) => join(work, ...parts)
  const path = at('repo')
  const file = at('made', 'a.txt')
  const task = (wish, tools, args, answer) => ({
    wish,
    tools: [tools].flat().map((tool) => `mcp__${tool.replace('.', '__')}`),
    args,
    answer,
  })
  const thought = { nextThoughtNeeded: false, totalThoughts: 2 }
  const knows = [{ from: 'Ada', to: 'Ben', relationType: 'knows' }]
  const readText = ['filesystem.read_text_file', 'filesystem.read_file']
  return [
    task(
      'repeat this sentence back to me',
      'everything.echo',
      { message: 'sixty tasks' },
      /Echo: sixty tasks/,
    ),
    task('add two numbers', 'everything.get-sum', { a: 19, b: 23 }, /42/),
    task('which environment variables does the server have', 'everything.get-env', {}, /PATH/),
    task('show me the tiny picture', 'everything.get-tiny-image', {}, /image/i),
    task(
      'weather of a city as structured data',
      'everything.get-structured-content',
      { location: 'Chicago' },
      /humidity/,
    ),
    task('links to several resources', 'everything.get-resource-links', { count: 3 }, /resource/i),
    task(
      'an annotated message of the type error',
      'everything.get-annotated-message',
      { messageType: 'error' },
      /error/i,
    ),
    task(
      'a reference to a text resource',
      'everything.get-resource-reference',
      { resourceType: 'Text', resourceId: 1 },
      /resource/i,
    ),
    task(
      'run a long operation that reports progress',
      'everything.trigger-long-running-operation',
      { duration: 1, steps: 2 },
      /completed/i,
    ),
    task(
      'compress data with gzip',
      'everything.gzip-file-as-resource',
      { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resource' },
      /gzip/i,
    ),
    task('turn the simulated log messages on', 'everything.toggle-simulated-logging', {}, /simulated/i),
    task('start updates for subscribed resources', 'everything.toggle-subscriber-updates', {}, /updates/i),
    task('make a new folder', 'filesystem.create_directory', { path: at('made') }, /created/i),
    task(
      'write a text into a file',
      'filesystem.write_file',
      { path: file, content: 'alpha\nbeta\ngamma\n' },
      /wrote/i,
    ),
    task('read the contents of a text file', readText, { path: file }, /beta/),
    task('show the first lines of a file', readText, { path: file, head: 1 }, /alpha/),
    task('show the last lines of a file', readText, { path: file, tail: 2 }, /gamma/),
    task(
      'read several files at once',
      'filesystem.read_multiple_files',
      { paths: [file, at('hello.txt')] },
      /alpha[\s\S]*hello/,
    ),
    task(
      'replace a line in a file',
      'filesystem.edit_file',
      { path: file, edits: [{ oldText: 'beta', newText: 'BETA' }] },
      /BETA/,
    ),
    task('list the files of a directory', 'filesystem.list_directory', { path: work }, /hello\.txt/),
    task(
      'which files of a directory are the largest',
      'filesystem.list_directory_with_sizes',
      { path: work, sortBy: 'size' },
      /Total/,
    ),
    task('show nested folders as a tree', 'filesystem.directory_tree', { path: at('made') }, /a\.txt/),
    task(
      'rename a file',
      'filesystem.move_file',
      { source: file, destination: at('made', 'b.txt') },
      /moved/i,
    ),
    task(
      'find files whose name fits a pattern',
      'filesystem.search_files',
      { path: work, pattern: '**/b.txt' },
      /b\.txt/,
    ),
    task(
      'when was this file last modified',
      'filesystem.get_file_info',
      { path: at('hello.txt') },
      /modified/,
    ),
    task('which directories am I allowed to access', 'filesystem.list_allowed_directories', {}, /Allowed/),
    task('load an image file', 'filesystem.read_media_file', { path: at('dot.png') }, /image/),
    task(
      'create entities in the knowledge graph',
      'memory.create_entities',
      {
        entities: ['Ada', 'Ben'].map((name) => ({ name, entityType: 'person', observations: ['reads'] })),
      },
      /Ada/,
    ),
    task(
      'add an observation about a person',
      'memory.add_observations',
      { observations: [{ entityName: 'Ada', contents: ['likes maps'] }] },
      /likes maps/,
    ),
    task(
      'remember that two people know each other',
      'memory.create_relations',
      { relations: knows },
      /knows/,
    ),
    task('read the whole knowledge graph', 'memory.read_graph', {}, /likes maps/),
    task('search the knowledge graph', 'memory.search_nodes', { query: 'maps' }, /Ada/),
    task('open nodes of the knowledge graph by name', 'memory.open_nodes', { names: ['Ben'] }, /Ben/),
    task(
      'delete a relation of the knowledge graph',
      'memory.delete_relations',
      { relations: knows },
      /deleted/i,
    ),
    task(
      'remove an observation from an entity',
      'memory.delete_observations',
      { deletions: [{ entityName: 'Ada', observations: ['likes maps'] }] },
      /deleted/i,
    ),
    task('forget a person', 'memory.delete_entities', { entityNames: ['Ben'] }, /deleted/i),
    task(
      'think step by step about a problem',
      'sequential-thinking.sequentialthinking',
      { ...thought, thought: 'one', thoughtNumber: 1 },
      /thoughtNumber/,
    ),
    task(
      'revise an earlier thought',
      'sequential-thinking.sequentialthinking',
      { ...thought, thought: 'two', thoughtNumber: 2, isRevision: true, revisesThought: 1 },
      /thoughtNumber/,
    ),
    task(
      'budget data with its categories',
      ['budget.get-budget-data', 'budget-two.get-budget-data'],
      {},
      /Categories/,
    ),
    task('initialize a new git repository', 'git.git_init', { path, initialBranch: 'main' }, /main/),
    task('stage a file for the next commit', 'git.git_add', { path, paths: ['a.txt'] }, /a\.txt/),
    task(
      'commit the staged changes',
      'git.git_commit',
      { path, message: 'the first commit' },
      /the first commit/,
    ),
    task('status of the working tree', 'git.git_status', { path }, /main/),
    task(
      'create a branch in my local git repository',
      'git.git_branch',
      { path, mode: 'create', branchName: 'topic' },
      /topic/,
    ),
    task('switch to another git branch', 'git.git_checkout', { path, target: 'topic' }, /topic/),
    task('history of the git commits', 'git.git_log', { path }, /the first commit/),
    task('show what is in a git commit', 'git.git_show', { path, object: 'HEAD' }, /the first commit/),
    task('who wrote each line of this file', 'git.git_blame', { path, filePath: 'a.txt' }, /Ada/),
    task(
      'give a commit a version tag',
      'git.git_tag',
      { path, mode: 'create', tagName: 'v1.0.0', message: 'first' },
      /v1\.0\.0/,
    ),
    task('list the tags of the repository', 'git.git_tag', { path, mode: 'list' }, /v1\.0\.0/),
    task(
      'add a remote to the repository',
      'git.git_remote',
      { path, mode: 'add', name: 'origin', url: 'https://example.com/r.git' },
      /origin/,
    ),
    task(
      'which remotes does the git repository have',
      'git.git_remote',
      { path, mode: 'list' },
      /example\.com/,
    ),
    task('list the stashed changes', 'git.git_stash', { path, mode: 'list' }, /stash/i),
    task('list the working trees of the repository', 'git.git_worktree', { path, mode: 'list' }, /topic/),
    task(
      'differences between the working tree and the last commit',
      'git.git_diff',
      { path },
      /diff|no changes|files/i,
    ),
    task('unstage everything', 'git.git_reset', { path, mode: 'mixed' }, /mixed/i),
    task('where did HEAD point before, to recover a commit', 'git.git_reflog', { path }, /the first commit/),
    task(
      'remove untracked files from the working tree',
      'git.git_clean',
      { path, dryRun: true, force: true },
      /dry|removed|files/i,
    ),
    task(
      'merge a branch into the current one',
      'git.git_merge',
      { path, branch: 'main' },
      /merge|up.to.date/i,
    ),
    task('set the folder that git commands work in', 'git.git_set_working_dir', { path }, /repo/),
  ]
}
