// protected-names.ts: what a file's path alone says: it is hidden, or it holds credentials. Ignore rules and where a link leads are
// judged in protected-files.ts.

/** Names, in lower case, of files that hold keys, passwords or tokens wherever they lie. */
const CREDENTIALS: readonly RegExp[] = [
  /\.(?:pem|key|p12|pfx|p8|jks|keystore|kdbx?|ppk|ovpn|keytab|tfstate|tfvars|mobileprovision)$/,
  /\.tfstate\.backup$/,
  // SSH keys have no ending; a source file has one.
  /^id_[^.]+$/,
  /(?:^|[._-])env$/,
  /^env\.(?:local|production|development|staging|test)$/,
  /^(?:_netrc|netrc|htpasswd|pgpass|kubeconfig|shadow|wallet\.dat|secring\.gpg)$/,
  /^(?:credentials?|secrets?)(?:\.(?:json|ya?ml|toml|ini|txt|env|xml|properties|enc))?$/,
  /^(?:client[_-]?secrets?|service[_-]?account|application_default_credentials)[^/]*\.json$/,
]

/** Does this name alone say that the file holds credentials? */
export function holdsCredentials(path: string): boolean {
  const name = plainName(path.slice(path.lastIndexOf('/') + 1))
  return CREDENTIALS.some((pattern) => pattern.test(name))
}

/** Windows opens `x.pem.`, `x.pem ` and `x.pem::$DATA` as x.pem. */
function plainName(name: string): string {
  const plain = process.platform === 'win32' ? name.replace(/:.*$/, '').replace(/[. ]+$/, '') : name
  return plain.toLowerCase()
}

export const isHidden = (path: string) =>
  path.split('/').some((name) => name.startsWith('.') && name !== '.' && name !== '..')

/**
 * May a search show this file unasked? Ignore files lie in the project, and a line such as `!.git` in one of them makes
 * ripgrep show what is hidden, so hidden names are judged here.
 */
export const isShown = (path: string) => !isHidden(path) && !holdsCredentials(path)
