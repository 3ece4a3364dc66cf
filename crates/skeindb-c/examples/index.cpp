// A secondary index in C++: as index.c, with objects and exceptions.
//
//   c++ -std=c++17 index.cpp $(pkg-config --cflags --libs skeindb) -o index && ./index index-data

#include <skeindb.hpp>

#include <iostream>

int main(int argc, char **argv) try {
    auto db = skein::Db::open(argc > 1 ? argv[1] : "index-data");
    auto users = db.keyspace("users");     // number -> city
    auto by_city = db.keyspace("by_city"); // city/number -> nothing

    auto move_to = [&](const std::string &user, const std::string &city) {
        db.transaction([&](skein::Transaction &tx) {
            if (auto old = tx.get(users, user)) tx.erase(by_city, *old + "/" + user);
            tx.put(users, user, city);
            tx.put(by_city, city + "/" + user, "");
        });
    };
    auto print_users_of = [&](const std::string &city) {
        std::cout << city << ":";
        auto cursor = by_city.cursor();
        for (auto [key, value] : cursor.prefix(city + "/")) std::cout << " " << key.substr(city.size() + 1) << value;
        std::cout << "\n";
    };

    move_to("u1", "London");
    move_to("u2", "London");
    move_to("u3", "Paris");
    print_users_of("London");
    move_to("u1", "Paris");
    print_users_of("London");
    print_users_of("Paris");
    db.close();
} catch (const skein::Error &error) {
    std::cerr << skein_status_name(error.status()) << ": " << error.what() << "\n";
    return 1;
}
