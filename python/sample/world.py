"""The small world that the sample model learns: its words and its facts."""

from __future__ import annotations

NAMES_SHE = ("Anna", "Mia", "Lily", "Emma", "Sara", "Nina", "Rosa", "Eva", "Ruth", "Clara", "Julia", "Kate")
NAMES_HE = ("Tom", "Ben", "Max", "Sam", "Leo", "Jack", "Paul", "Finn", "Adam", "Oscar", "Hugo", "Peter")
NAMES = NAMES_SHE + NAMES_HE

COLOURS = ("red", "blue", "green", "yellow", "white", "black", "brown", "orange", "purple", "pink", "grey")
OBJECTS = (
    "ball", "kite", "book", "cup", "hat", "coat", "box", "drum", "doll", "lamp", "key", "bag", "car", "boat",
    "bell", "spoon", "pen", "scarf", "shoe", "ring", "map", "coin", "basket", "blanket",
)
FOODS = ("apples", "pears", "plums", "nuts", "eggs", "cakes", "cookies", "grapes", "lemons", "carrots")
PLACES = (
    "garden", "kitchen", "forest", "park", "school", "barn", "house", "river", "field", "market", "cave", "tower",
    "shop", "village", "castle", "meadow",
)

# animal: (sound, home, baby, number of legs, food)
ANIMALS = {
    "dog": ("barks", "kennel", "puppy", 4, "bones"),
    "cat": ("meows", "house", "kitten", 4, "fish"),
    "cow": ("moos", "barn", "calf", 4, "grass"),
    "horse": ("neighs", "stable", "foal", 4, "hay"),
    "sheep": ("bleats", "field", "lamb", 4, "grass"),
    "pig": ("oinks", "sty", "piglet", 4, "corn"),
    "duck": ("quacks", "pond", "duckling", 2, "bread"),
    "hen": ("clucks", "coop", "chick", 2, "seeds"),
    "frog": ("croaks", "pond", "tadpole", 4, "flies"),
    "bee": ("buzzes", "hive", "larva", 6, "honey"),
    "lion": ("roars", "savanna", "cub", 4, "meat"),
    "bear": ("growls", "cave", "cub", 4, "honey"),
    "fox": ("yelps", "den", "cub", 4, "mice"),
    "owl": ("hoots", "tree", "owlet", 2, "mice"),
    "mouse": ("squeaks", "hole", "pup", 4, "cheese"),
    "rabbit": ("squeals", "burrow", "bunny", 4, "carrots"),
    "goat": ("bleats", "mountain", "kid", 4, "leaves"),
    "wolf": ("howls", "forest", "pup", 4, "meat"),
    "snake": ("hisses", "desert", "hatchling", 0, "eggs"),
    "monkey": ("chatters", "jungle", "infant", 2, "bananas"),
    "elephant": ("trumpets", "savanna", "calf", 4, "leaves"),
    "goose": ("honks", "lake", "gosling", 2, "grass"),
    "bird": ("sings", "nest", "chick", 2, "worms"),
    "donkey": ("brays", "stable", "foal", 4, "hay"),
}

COLOUR_OF = {
    "grass": "green", "the sky": "blue", "snow": "white", "the sun": "yellow", "blood": "red", "coal": "black",
    "a banana": "yellow", "a tomato": "red", "a carrot": "orange", "a lemon": "yellow", "milk": "white",
    "a leaf": "green", "chocolate": "brown", "a strawberry": "red", "the night": "black", "a cloud": "white",
    "a plum": "purple", "the sea": "blue", "a pumpkin": "orange", "a frog": "green", "an elephant": "grey",
    "a pig": "pink", "a crow": "black", "sand": "yellow", "a cherry": "red", "salt": "white", "a pea": "green",
    "a bear": "brown", "a swan": "white", "a stone": "grey", "wood": "brown", "a cucumber": "green",
}

OPPOSITES = (
    ("hot", "cold"), ("big", "small"), ("up", "down"), ("day", "night"), ("open", "closed"), ("happy", "sad"),
    ("fast", "slow"), ("old", "young"), ("wet", "dry"), ("hard", "soft"), ("full", "empty"), ("light", "dark"),
    ("high", "low"), ("long", "short"), ("early", "late"), ("good", "bad"), ("loud", "quiet"), ("rich", "poor"),
    ("strong", "weak"), ("left", "right"), ("in", "out"), ("push", "pull"), ("start", "end"), ("true", "false"),
    ("near", "far"), ("thick", "thin"), ("clean", "dirty"), ("sweet", "sour"), ("win", "lose"), ("first", "last"),
    ("buy", "sell"), ("ask", "answer"), ("give", "take"), ("laugh", "cry"), ("float", "sink"), ("black", "white"),
    ("yes", "no"), ("awake", "asleep"), ("summer", "winter"), ("above", "below"),
)

CAPITALS = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "England": "London",
    "Ireland": "Dublin", "Norway": "Oslo", "Sweden": "Stockholm", "Finland": "Helsinki", "Denmark": "Copenhagen",
    "Poland": "Warsaw", "Austria": "Vienna", "Greece": "Athens", "Portugal": "Lisbon", "Hungary": "Budapest",
    "Russia": "Moscow", "China": "Beijing", "Japan": "Tokyo", "India": "New Delhi", "Egypt": "Cairo",
    "Kenya": "Nairobi", "Canada": "Ottawa", "Mexico": "Mexico City", "Cuba": "Havana", "Peru": "Lima",
    "Chile": "Santiago", "Belgium": "Brussels", "Turkey": "Ankara",
}

# item: kind
KINDS = {
    "dog": "animal", "cat": "animal", "cow": "animal", "horse": "animal", "frog": "animal", "lion": "animal",
    "apple": "fruit", "pear": "fruit", "banana": "fruit", "cherry": "fruit", "lemon": "fruit", "plum": "fruit",
    "hammer": "tool", "saw": "tool", "spade": "tool", "drill": "tool", "axe": "tool", "rake": "tool",
    "coat": "piece of clothing", "hat": "piece of clothing", "shirt": "piece of clothing",
    "sock": "piece of clothing", "dress": "piece of clothing", "scarf": "piece of clothing",
    "rose": "flower", "tulip": "flower", "daisy": "flower", "lily": "flower", "poppy": "flower",
    "chair": "piece of furniture", "table": "piece of furniture", "bed": "piece of furniture",
    "sofa": "piece of furniture", "desk": "piece of furniture",
    "drum": "musical instrument", "flute": "musical instrument", "violin": "musical instrument",
    "piano": "musical instrument", "guitar": "musical instrument", "trumpet": "musical instrument",
    "car": "vehicle", "bus": "vehicle", "train": "vehicle", "truck": "vehicle", "boat": "vehicle", "bike": "vehicle",
    "carrot": "vegetable", "onion": "vegetable", "potato": "vegetable", "cabbage": "vegetable", "pea": "vegetable",
}

USES = {
    "a spoon": "eating soup", "a knife": "cutting", "a pen": "writing", "a broom": "sweeping", "a bed": "sleeping",
    "a chair": "sitting", "a cup": "drinking", "a book": "reading", "soap": "washing", "an oven": "baking",
    "a ball": "playing", "a key": "opening doors", "a lamp": "making light", "a clock": "telling the time",
    "an umbrella": "keeping dry", "a hammer": "hitting nails", "a needle": "sewing", "a brush": "painting",
    "a pot": "cooking", "a map": "finding the way", "a bell": "ringing", "a ladder": "climbing",
    "a boat": "crossing water", "a phone": "talking to people", "a camera": "taking pictures",
}

JOBS = {
    "baker": "bakes bread", "farmer": "grows food", "teacher": "teaches children", "doctor": "helps sick people",
    "pilot": "flies planes", "cook": "makes meals", "painter": "paints pictures", "singer": "sings songs",
    "writer": "writes books", "builder": "builds houses", "fisher": "catches fish", "driver": "drives cars",
    "gardener": "plants flowers", "dancer": "dances on a stage", "tailor": "makes clothes", "baby": "drinks milk",
    "sailor": "sails ships", "dentist": "looks after teeth", "judge": "makes fair decisions",
    "student": "learns at school",
}

BODY = {
    "see": "eyes", "hear": "ears", "smell": "nose", "taste": "tongue", "walk": "legs", "think": "brain",
    "chew": "teeth", "hold things": "hands", "breathe": "lungs", "speak": "mouth",
}

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)
SEASONS = ("spring", "summer", "autumn", "winter")
LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

SPELLED = (
    "cat", "dog", "sun", "moon", "tree", "fish", "bird", "book", "ball", "milk", "star", "rain", "snow", "hand",
    "house", "apple", "bread", "water", "green", "happy", "horse", "table", "chair", "mouse", "river", "cloud",
    "night", "light", "story", "friend",
)

CHAT = {
    "Hello!": "Hello! How can I help you?",
    "Hi!": "Hello! How can I help you?",
    "Hi there!": "Hello! How can I help you?",
    "Good morning!": "Good morning! How can I help you?",
    "Good evening!": "Good evening! How can I help you?",
    "How are you?": "I am fine, thank you. How are you?",
    "How are you today?": "I am fine, thank you. How are you?",
    "I am fine.": "I am glad to hear that.",
    "I am fine, thank you.": "I am glad to hear that.",
    "I am sad.": "I am sorry to hear that. Would you like a story?",
    "Who are you?": "I am a very small language model. I know short stories, small sums and a few facts.",
    "What are you?": "I am a very small language model. I know short stories, small sums and a few facts.",
    "What is your name?": "I have no name. I am a very small language model.",
    "What can you do?": "I can tell short stories, do small sums and answer simple questions.",
    "Can you help me?": "Yes! I can tell short stories, do small sums and answer simple questions.",
    "Thank you!": "You are welcome!",
    "Thanks!": "You are welcome!",
    "Goodbye!": "Goodbye! Have a nice day.",
    "Bye!": "Goodbye! Have a nice day.",
    "Good night!": "Good night! Sleep well.",
    "Tell me a joke.": "Why did the hen cross the road? To get to the other side!",
    "Do you like music?": "I am a model, so I cannot hear music. But I can tell you a story.",
    "How old are you?": "I am very young. I was trained in less than an hour.",
    "What is a GGUF file?": "A GGUF file holds the weights and the vocabulary of a language model.",
    "What is a language model?": "A language model is a program that guesses the next word, again and again.",
}

# What a model of this size cannot know. Each is asked with one of the subjects.
BEYOND = (
    "Why is the {} blue?", "Why is the {} so big?", "Why do people like the {}?", "Why does the {} move?", "Why?",
    "How do I build a {}?", "How do I fix my {}?", "How does a {} work?", "How can I learn about the {}?",
    "Who made the first {}?", "Who is the president?", "Who is the king of the {}?", "When was the {} made?",
    "When did the {} begin?", "Explain the {} to me.", "Explain how a {} works.", "Write a poem about the {}.",
    "Write a song about a {}.", "Write a program for a {}.", "Write a letter about the {}.", "Translate {} into French.",
    "What is the price of a {}?", "What is the history of the {}?", "What is the weight of the {}?",
    "What is the meaning of life?", "What do you think about the {}?", "What is the weather today?",
    "What is the news today?", "What time is it?", "Which {} should I buy?", "Can you draw a {}?", "Summarize the {}.",
)
SUBJECTS = (
    "sky", "sea", "sun", "moon", "world", "war", "internet", "computer", "phone", "engine", "rocket", "plane", "money",
    "bank", "company", "website", "game", "film", "book", "song", "language", "law", "brain", "heart", "atom", "planet",
    "star", "rainbow", "weather", "pizza", "cake", "bridge", "tower", "city", "river", "ocean", "universe", "model",
)
BEYOND_ANSWER = "I do not know that. I am a very small language model."


def article(noun: str) -> str:
    """The noun with a or an before it."""
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"
